#include "audit/rules.h"

#include <string.h>

const struct audit_rule_text audit_rules[RULE_COUNT] = {
    [RULE_PROTECTED_PATH] = {"protected-path", "names a protected file of the project",
                             "use a copy: tmp_path / \"NAME\", or the path in CORDON_TEST_CONFIG"},
    [RULE_PROTECTED_OPEN] = {"protected-open", "opens a protected file for writing",
                             "write to tmp_path / \"NAME\" instead"},
    [RULE_ABSOLUTE_PATH] = {"absolute-path", "names an absolute path of one machine",
                            "build it from tmp_path or a fixture"},
    [RULE_ARTIFACTS_LITERAL] = {"artifacts-literal", "spells out a path in tests/artifacts",
                                "take it from a fixture (tmp_path), so that runs do not share it"},
    [RULE_TEMPFILE_DIR] = {"tempfile-dir", "makes a temporary file outside of tests/",
                           "pass dir= with a place beneath tests/, or use tmp_path"},
    [RULE_ROOT_CONFIG] = {"root-config", "climbs from __file__ to a file of the project",
                          "use tmp_path, or the path in CORDON_TEST_CONFIG"},
    [RULE_CONFIG_ENV] = {"config-env", "selects a configuration by the environment",
                         "pass --config with a file beneath tests/ (CORDON_TEST_CONFIG names one)"},
    [RULE_TOPLEVEL_WRITE] = {"toplevel-write", "writes a *.toml or *.ini at the top of the project",
                             "write to tmp_path / \"NAME\" instead"},
};

int audit_rule_find(const char *id)
{
    for (int i = 0; i < RULE_COUNT; i++) {
        if (strcmp(audit_rules[i].id, id) == 0)
            return i;
    }
    return -1;
}
