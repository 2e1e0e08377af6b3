"""The same suites against every backend: what its ledger claims must hold, what it does not claim is
skipped by name.

CORDON_TEST_BACKEND names one of bwrap, posix, none, or tier2 (native on a host that refuses user
namespaces: CORDON_TEST_PREFIX refuses them). A run of each is asked for its ledger once; a test that
rests on a capability that the ledger does not claim is skipped, with the ledger's own words.
"""
import fnmatch
import functools
import json
import os
import subprocess

import support

BACKEND = os.environ.get("CORDON_TEST_BACKEND", "native")

# Which capabilities a test rests on: the first pattern that fits counts.
NEEDS = [
    ("blackbox/test_limits.py::*p03*", ["wall_time"]),
    ("blackbox/test_limits.py::*p04*", ["cpu_time"]),
    ("blackbox/test_limits.py::*p05*", ["memory"]),
    ("blackbox/test_limits.py::*p10*", ["pids"]),
    ("blackbox/test_limits.py::*p11*", ["open_files"]),
    ("blackbox/test_limits.py::*tmp*", ["filesystem"]),
    ("blackbox/test_limits.py::*sampled_memory*", ["memory", "filesystem"]),
    ("blackbox/test_limits.py::*counts_once*", ["memory", "filesystem"]),
    ("blackbox/test_filesystem.py::*", ["filesystem"]),
    ("blackbox/test_identity.py::*", ["privileges", "filesystem"]),
    ("blackbox/test_network.py::*", ["network", "filesystem"]),
    ("blackbox/test_environment.py::*", ["environment", "filesystem"]),
    ("blackbox/test_programs.py::*", ["filesystem"]),
    ("blackbox/test_killed_init.py::*", ["processes", "filesystem"]),
    ("blackbox/test_readers.py::*", ["filesystem"]),
    ("blackbox/test_robustness.py::*daemon*", ["processes"]),
    ("blackbox/test_robustness.py::*cwd_that_is_gone*", ["filesystem"]),
    ("blackbox/test_robustness.py::*sigkill*", ["processes"]),
    ("blackbox/test_results.py::*p08*", ["syscalls"]),
    ("blackbox/test_results.py::*p16*", support.CAPABILITIES),
    ("blackbox/test_results.py::*partial_warns*", support.CAPABILITIES),
    ("blackbox/test_results.py::*usage*", ["memory"]),
    ("blackbox/test_results.py::*two_runs*", ["filesystem"]),
    ("blackbox/test_results.py::*dry_run*", ["filesystem"]),
    ("blackbox/test_bad_input.py::test_12*", ["filesystem"]),
    ("blackbox/test_bad_input.py::*bad_options*", ["filesystem"]),
    ("blackbox/test_bad_input.py::*control_characters*", ["filesystem"]),
    ("blackbox/test_bad_input.py::*source_without*", ["filesystem"]),
    ("blackbox/test_bad_input.py::*remedies*", ["filesystem"]),
    ("blackbox/test_bad_input.py::*inside_of_a_run*", ["filesystem", "memory"]),
    ("escape/test_daemon.py::*", ["processes"]),
    ("escape/test_fork_bomb.py::*", ["pids", "processes"]),
    ("escape/test_memory_tree.py::*", ["memory"]),
    ("escape/test_watcher_evasion.py::*", ["memory", "filesystem"]),
    ("escape/test_output_flood.py::*", ["output"]),
    ("escape/test_fake_result.py::*", ["output"]),
    ("escape/test_terminal_injection.py::*", ["output"]),
    ("escape/test_environment_leak.py::*", ["environment"]),
    ("escape/test_core_dumps.py::*", ["open_files"]),
    ("escape/test_kill_group.py::*", ["processes"]),
    ("escape/test_signals_outside.py::*", ["processes", "filesystem"]),
    ("escape/test_keyring.py::*", ["ipc"]),
    ("escape/test_sysv_and_mq.py::*", ["ipc"]),
    ("escape/test_abstract_sockets.py::*", ["ipc"]),
    ("escape/test_netlink.py::*", ["network"]),
    ("escape/test_vsock.py::*", ["network"]),
    ("escape/test_devices.py::*", ["devices"]),
    ("escape/test_int80.py::*", ["syscalls", "filesystem"]),
    ("escape/test_x32.py::*", ["syscalls", "filesystem"]),
    ("escape/test_io_uring.py::*", ["syscalls"]),
    ("escape/test_kernel_surface.py::*", ["syscalls"]),
    ("escape/test_mount.py::*", ["syscalls"]),
    ("escape/test_user_namespaces.py::*", ["syscalls"]),
    ("escape/test_ptrace_init.py::*", ["processes", "syscalls"]),
    ("escape/test_reopened_stdio.py::*", ["syscalls"]),
    ("escape/test_setuid*", ["privileges", "filesystem"]),
    ("escape/*", ["filesystem"]),
]

COVERED = "bwrap's own pid 1 is covered in /proc: there is nothing to read"
OWNERS = "bwrap maps no owners: root's own directories are not the payload's"
NATIVE = "it looks at native's own layers"

# What a backend lacks although no capability is named after it, each said in the ledger's details or
# in cordon-security(7).
LACKS = {
    "bwrap": [
        ("blackbox/test_switches.py::*", NATIVE),
        ("blackbox/test_limits.py::*mapped_file*", "shared memory that is in no tmpfs can be had there, and is added"),
        ("blackbox/test_results.py::test_p15_fields", "it wants the name native"),
        ("blackbox/test_filesystem.py::test_a_directory_that_was_entered*", "bwrap says it in its own words"),
        ("blackbox/test_filesystem.py::test_messages_name*", "bwrap says it in its own words"),
        ("blackbox/test_bad_input.py::test_the_remedies*", "bwrap says some of it in its own words, too"),
        ("blackbox/test_filesystem.py::test_i14_dev_is_minimal", "bwrap adds /dev/core, a link"),
        ("blackbox/test_filesystem.py::test_i05_files_written_belong*", OWNERS),
        ("blackbox/test_filesystem.py::test_i05_a_private_directory*", OWNERS),
        ("blackbox/test_filesystem.py::test_the_agent_profile_writes*", OWNERS),
        ("blackbox/test_filesystem.py::test_what_is_hidden*", "only native hides names, others refuse in words"),
        ("blackbox/test_identity.py::test_root_is_told*", OWNERS),
        ("blackbox/test_identity.py::test_i13_new_session", "the session is that of bwrap's pid 1"),
        ("escape/test_devices.py::test_random_cannot_be_written", "without Landlock the node's mode decides"),
        ("escape/test_own_binary.py::*", COVERED),
        ("escape/test_proc_of_init.py::*", COVERED),
        ("escape/test_words_of_init.py::*", COVERED),
        ("escape/test_tmpfs_fill.py::test_inodes*", "bwrap limits no inodes"),
        ("escape/test_watcher_evasion.py::*zero*", "bwrap's /dev/zero is the host's"),
        ("escape/test_protected_files.py::*", OWNERS),
        ("escape/test_setuid_files.py::test_every_mount*guard*", OWNERS),
        ("escape/test_without_filter.py::test_names*", "names of keys are seen, as the ledger says"),
        ("escape/test_hidden_names.py::*", "only native hides names, others refuse in words"),
        ("escape/test_traceme.py::*", "no process can trace another there: bwrap's pid 1 has no filter"),
    ],
    "posix": [
        ("blackbox/test_switches.py::*", NATIVE),
        ("blackbox/test_results.py::test_p15_fields", "it wants the name native"),
        ("escape/test_core_dumps.py::*", "it binds at another path"),
    ],
    "tier2": [
        ("blackbox/test_switches.py::*", NATIVE),
        ("blackbox/test_robustness.py::test_few_descriptors[[]3[]]", "what refuses needs a fourth itself"),
        ("blackbox/test_results.py::*older_form_ends_on_socket", "it writes in /tmp, which only mounts give"),
        ("escape/*[[]loopback[]]", "a loopback of its own takes a network namespace, and is refused in words"),
        ("escape/test_bind_sources.py::test_dotdot*", "a bind at another path takes mounts, and is refused in words"),
        ("escape/test_core_dumps.py::*", "it binds at another path"),
        ("escape/test_environment_leak.py::test_environment_is*", "it reads a /proc that is closed here"),
        ("escape/test_environment_leak.py::test_nothing_of*", "it reads a /proc that is closed here"),
        ("escape/test_sysv_and_mq.py::test_sysv_shared*", "without the filter, which it tries too, ipc is not claimed"),
        ("escape/test_sysv_and_mq.py::test_posix_queues", "without the filter, which it tries too, ipc is not claimed"),
    ],
}
LACKS["none"] = LACKS["posix"]

# Those of tests/blackbox that speak of runs, and not of a command or a backend.
OF_RUNS = ["bad_input", "environment", "filesystem", "identity", "killed_init", "limits", "network", "programs",
           "readers", "results", "robustness", "switches"]


@functools.lru_cache(maxsize=None)
def ledger():
    r = subprocess.run([*support.PREFIX, support.BIN, "run", *support.EXTRA, "--allow-partial", "--quiet",
                        "--json", "--", "true"], env=support.ENV, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, check=True)
    return json.loads(r.stdout)["enforced"]


def reason(name):
    """Why `dir/file.py::test` does not run against this backend; None: it does; "": it is not about one."""
    if name.startswith("blackbox/") and not any(name.startswith(f"blackbox/test_{f}.py") for f in OF_RUNS):
        return ""
    for pattern, why in LACKS[BACKEND]:
        if fnmatch.fnmatch(name, pattern):
            return f"{BACKEND}: {why}"
    for pattern, capabilities in NEEDS:
        if fnmatch.fnmatch(name, pattern):
            for c in capabilities:
                if not ledger()[c]["applied"]:
                    return f"{BACKEND} does not claim {c}: {ledger()[c]['details']}"
            return None
    return None
