"""A server between a program and an engine of time series, which does wrong what a test asks for.

usage: engine_relay.py PORT UPSTREAM FAULTS      FAULTS is JSON; its keys are those of RelayFaults (tests/support/engines.h)
"""
import http.server
import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

port, upstream, faults = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
asked = 0


LIVE = re.compile(r"_over_time\(idleburn_gpu_(utilization_seconds|idle_seconds|energy|memory_used)")


def trouble(form):
    """What is wrong with the question: "refuse", "never", "silent", or None."""
    query = form.get("query", [""])[0]
    print(query, flush=True)
    nodes = re.search(r'node=~"([^"]*)"', query)
    if faults["never"] and re.search(faults["never"], query):
        return "never"
    if faults["most_nodes"] and LIVE.search(query):
        if not nodes or nodes.group(1).count("|") >= faults["most_nodes"]:
            return "refuse"
    window = re.search(r"\[(\d+)s\]", query)
    seconds = int(window.group(1)) if window else 0
    end = float(form.get("time", form.get("end", ["0"]))[0]) + 0.001
    if "end" in form and int(form["end"][0]) - int(form["start"][0]) > faults["longest_range"]:
        return "refuse"
    if not seconds:
        return None
    if faults["silent"]:
        return "silent"
    never = faults["never_from"] < faults["never_to"]
    inside = never and end > faults["never_from"] and end - seconds < faults["never_to"]
    return "refuse" if seconds > faults["longest_window"] or inside else None


class Relay(http.server.BaseHTTPRequestHandler):
    def answer(self):
        global asked
        asked += 1
        if faults["last"] and asked > faults["last"]:
            os._exit(0)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        wrong = trouble(urllib.parse.parse_qs(body.decode()))
        if faults["body"] is not None:
            self.say(faults["status"], faults["body"].encode())
        elif wrong == "refuse":
            self.say(422, b'{"status":"error","errorType":"422","error":"cannot select more than N samples"}')
        elif wrong == "never":
            self.say(400, b'{"status":"error","error":"no such thing here"}')
        else:
            if wrong == "silent":
                time.sleep(60)
            try:
                request = urllib.request.Request(upstream + self.path, data=body or None)
                with urllib.request.urlopen(request) as reply:
                    self.say(reply.status, reply.read())
            except urllib.error.HTTPError as error:
                self.say(error.code, error.read())

    def say(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *words):
        pass


http.server.HTTPServer(("127.0.0.1", port), Relay).serve_forever()
