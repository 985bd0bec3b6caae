// What is installed runs where it lies: `make install`, the archive where nothing but glibc is, and the Python package.
// `make fresh` also installs the .deb with apt in a bare Debian.
#include <gtest/gtest.h>
#include <unistd.h>

#include "places.h"
#include "support/live_command.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

constexpr const char* kRoot = IDLEBURN_ROOT;

TEST(Package, InstallsBelowAnyPrefix) {
  const TempFolder folder;
  const std::string at = folder.path().string();
  const ProgramRun run = RunShell("DESTDIR=" + at + " cmake --install " IDLEBURN_BUILD " --prefix /opt/ib && cd " + at +
                                  "/opt/ib && bin/idleburn --version && find . -type f | sort");
  ASSERT_EQ(run.code, 0) << run.err;
  for (const char* file : {"./bin/idleburn", "./share/man/man1/idleburn.1", "./share/man/man1/idleburn-audit.1",
                           "./share/bash-completion/completions/idleburn", "./share/zsh/site-functions/_idleburn",
                           "./share/fish/vendor_completions.d/idleburn.fish", "./share/doc/idleburn/LICENSE"}) {
    EXPECT_EQ(LinesWith(run.out, file) > 0, true) << file << "\n" << run.out;
  }
  // Where the loader looks for libraries: one folder of our own, never the current one.
  const ProgramRun path = RunShell("objdump -p " + at + "/opt/ib/bin/idleburn | grep -E 'R(UN)?PATH'");
  EXPECT_EQ(path.out, "  RPATH                $ORIGIN/../lib/idleburn\n");
}

// The archive in a root folder that holds the loader and the libraries of glibc, and nothing else.
TEST(Package, TheArchiveNeedsNothingButGlibc) {
  if (geteuid() != 0) GTEST_SKIP() << "chroot needs root";
  if (RunShell("command -v dpkg-query && command -v zstd").code != 0) GTEST_SKIP() << "dpkg and zstd make it";
  const TempFolder folder;
  const std::string at = folder.path().string();
  const ProgramRun made = RunShell(std::string(kRoot) + "/tools/package.sh " IDLEBURN_BUILD " archive");
  ASSERT_EQ(made.code, 0) << made.err;
  const ProgramRun unpacked =
      RunShell("zstd -dc " + std::string(kRoot) + "/build/package/idleburn-*.tar.zst | tar -x -C " + at +
               " --strip-components=1 && mkdir -p " + at + "/tmp " + at +
               "/proc && for file in $(ldd " IDLEBURN_PROGRAM
               " | grep -oE '/[^ ]*/(ld-linux[^ ]*|lib(c|m)\\.so\\.6)'); do mkdir -p " +
               at + "$(dirname $file) && cp -L $file " + at + "$file; done");
  ASSERT_EQ(unpacked.code, 0) << unpacked.err;
  // The loader finds the program's folder in /proc.
  const ProgramRun demo = RunShell("unshare --mount sh -c 'mount -t proc proc " + at + "/proc && exec chroot " + at +
                                   " /bin/idleburn demo --full --no-color'");
  EXPECT_EQ(demo.code, 0) << demo.err;
  EXPECT_EQ(LinesWith(demo.out, "A demo: 4 H100 GPUs"), 1) << demo.out;
  // Each library comes with its licence.
  EXPECT_TRUE(std::filesystem::exists(at + "/share/doc/idleburn/licenses/libssl3"));
}

TEST(Package, TheDebNamesWhatItNeeds) {
  if (RunShell("command -v dpkg-shlibdeps && command -v file").code != 0) GTEST_SKIP() << "dpkg-dev and file make it";
  const ProgramRun made = RunShell(std::string(kRoot) + "/tools/package.sh " IDLEBURN_BUILD " deb");
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string deb = std::string(kRoot) + "/build/package/idleburn_*.deb";
  const std::string fields = RunShell("dpkg-deb -f " + deb).out;
  EXPECT_EQ(LinesWith(fields, "Package: idleburn"), 1) << fields;
  for (const char* needed : {"libc6 (>= ", "libsimdjson14", "libsqlite3-0", "tzdata"}) {
    EXPECT_EQ(LinesWith(fields, needed), 1) << needed << "\n" << fields;
  }
  const std::string files = RunShell("dpkg-deb -c " + deb).out;
  for (const char* file : {"./usr/bin/idleburn", "./usr/share/man/man1/idleburn-audit.1.gz",
                           "./usr/share/zsh/vendor-completions/_idleburn", "./usr/share/doc/idleburn/copyright"}) {
    EXPECT_EQ(LinesWith(files, file), 1) << file << "\n" << files;
  }
}

// By Debian's own tools, without an index.
TEST(Package, ThePythonPackageInstallsWithoutAnIndex) {
  const std::string python = "/usr/bin/python3";
  if (RunShell(python + " -c 'import setuptools, wheel, venv, ensurepip, pip'").code != 0) {
    GTEST_SKIP() << "Debian's python3-setuptools, -wheel, -venv and -pip are not installed";
  }
  const std::string imports = " && cd / && \"$F\"/bin/python -c 'import idleburn; print(idleburn.__file__)'";
  const std::string begin =
      "F=$PWD/v; cp -r " + std::string(kRoot) + "/python p && " + python + " -m venv --system-site-packages v && ";
  const ProgramRun source = RunShell(begin + "v/bin/pip install -q --no-index --no-build-isolation ./p" + imports);
  EXPECT_EQ(source.code, 0) << source.err;
  EXPECT_EQ(LinesWith(source.out, "/site-packages/idleburn/__init__.py"), 1) << source.out;
  const ProgramRun wheel = RunShell(begin +
                                    "v/bin/pip wheel -q --no-index --no-build-isolation --no-deps -w w ./p && "
                                    "v/bin/pip install -q --no-index w/idleburn-*.whl" +
                                    imports);
  EXPECT_EQ(wheel.code, 0) << wheel.err;
  EXPECT_EQ(LinesWith(wheel.out, "/site-packages/idleburn/__init__.py"), 1) << wheel.out;
}

}  // namespace
}  // namespace idleburn::testing
