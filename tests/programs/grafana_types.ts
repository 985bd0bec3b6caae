// The types of a dashboard as Grafana's declarations give them, stricter where those allow anything: the options of a
// panel are those of its kind. tests/fleet_dashboards_test.cc appends the dashboards and runs the compiler.
import {Dashboard, FieldConfig, FieldConfigSource, Panel, RowPanel} from '@grafana/schema';
import * as bargauge from '@grafana/schema/raw/composable/bargauge/panelcfg/x/types.gen';
import * as stat from '@grafana/schema/raw/composable/stat/panelcfg/x/types.gen';
import * as table from '@grafana/schema/raw/composable/table/panelcfg/x/types.gen';
import * as timeseries from '@grafana/schema/raw/composable/timeseries/panelcfg/x/types.gen';

// A type with its string enums as JSON writes them.
type Json<T> = T extends string
  ? `${T}`
  : T extends Array<infer E> ? Json<E>[] : T extends object ? {[K in keyof T]: Json<T[K]>} : T;

type Kind<Name extends string, Options, Custom> = Json<
  Omit<Panel, 'type' | 'options' | 'fieldConfig'> & {
    options: Partial<Options>;
    fieldConfig: {
      defaults: Omit<FieldConfig, 'custom'> & {custom?: Partial<Custom>};
      overrides: FieldConfigSource['overrides'];
    };
  }
> & {type: Name};

type AnyPanel =
  | Json<RowPanel>
  | Kind<'stat', stat.Options, {}>
  | Kind<'bargauge', bargauge.Options, {}>
  | Kind<'table', table.Options, table.FieldConfig>
  | Kind<'timeseries', timeseries.Options, timeseries.FieldConfig>;

type Checked = Json<Omit<Dashboard, 'panels'>> & {panels: AnyPanel[]};
