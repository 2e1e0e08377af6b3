/*
 * How a violation gets the name of its test: a small plug-in of pytest keeps a file for each of its
 * processes, named by the process's number, with the name of the test that runs.
 */
#pragma once

#define NOTES_DIR "notes"          /* in the workspace */
#define NOTES_PLUGIN_DIR "plugin"  /* in the workspace, and first in PYTHONPATH */
#define NOTES_PLUGIN "cordon_test_notes"

extern const char notes_plugin[]; /* Python */
