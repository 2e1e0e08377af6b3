#include "cli/run.h"

#include <unistd.h>

#include "base/cwd.h"
#include "cli/message.h"
#include "cli/session.h"

static int put_help(void)
{
    BUF_AUTO text = BUF_INIT(64 * 1024);
    buf_puts(&text, "usage: cordon run [options] -- COMMAND [ARG...]\n\n"
                    "Runs a command under a policy: its own view of the file system, no network, limits,\n"
                    "and a result that says what was enforced. Without options: the profile \"stage\".\n\n");
    options_help(&text, PROFILE_STAGE, NULL, NULL);
    buf_puts(&text, "\nThe exit status is the command's own; 128+n if a signal ended it; 124 wall time,\n"
                    "152 cpu time, 137 memory, 153 output, 159 a forbidden system call; 125 the sandbox\n"
                    "itself failed and nothing ran; 126 not executable, 127 not found; 2 a usage or\n"
                    "policy error.\n");
    return message_print(&text) < 0 ? EXIT_SETUP : 0;
}

static int run(struct session *s, int argc, char **argv)
{
    struct cordon_error *err = &s->result.error;
    const struct options_setting setting = {.profile = PROFILE_STAGE,
                                            .arena = &s->arena,
                                            .cwd = cwd_name(&s->arena)};
    int r = options_parse_command(&s->options, &setting, argc - 2, argv + 2, err);
    if (r >= 0 && s->options.help)
        return put_help();
    if (r >= 0)
        r = session_open(s, argc, argv);
    if (r < 0) {
        message_error(err);
        return EXIT_USAGE;
    }
    s->input = s->options.stdin_none ? -1 : STDIN_FILENO;
    s->pass[0] = s->pass[1] = !s->options.json && !s->options.format_text;
    r = session_plan(s);
    if (r == 0 && s->options.dry_run)
        return session_print_plan(s);
    session_run(s, r);
    return session_conclude(s, session_exit(s));
}

int cli_run(int argc, char **argv)
{
    static struct session s;
    session_init(&s);
    int status = run(&s, argc, argv);
    session_release(&s);
    return status;
}
