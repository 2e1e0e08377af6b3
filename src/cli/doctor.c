#include "cli/doctor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/option.h"
#include "doctor/doctor.h"

#define OUTPUT_MAX (1024 * 1024)
#define EXIT_LACKING 1

struct doctor_flags {
    bool json, help, profile_given;
    enum policy_profile profile;
};

static int apply_profile(const struct option_use *use, const char *value)
{
    ((struct doctor_flags *)use->target)->profile_given = true;
    return option_word(use, value);
}

#define OPT(field) offsetof(struct doctor_flags, field)

static const struct option option_items[] = {
    {"json", NULL, "print a document (schema/doctor.schema.json)", option_flag, OPT(json), NULL,
     false},
    {"profile", "NAME", "also try this profile: stage, module, limits, test or agent", apply_profile,
     OPT(profile), &policy_profile_words, false},
    {"help", NULL, "this text", option_flag, OPT(help), NULL, false},
};

static int read_options(struct doctor_flags *flags, int argc, char **argv)
{
    const struct option_table table = OPTION_TABLE(option_items, flags);
    const struct option_walk walk = {.tables = &table, .table_count = 1};
    struct cordon_error err = {0};
    int n = option_walk(&walk, argc, argv, &err);
    if (n >= 0 && n < argc)
        n = option_misuse(&err, "read command", argv[n], "one word too many", NULL);
    if (n < 0)
        message_error(&err);
    return n;
}

static void put_help(struct buf *out)
{
    const struct option_table table = OPTION_TABLE(option_items, NULL);
    buf_puts(out, "usage: cordon doctor [options]\n\n"
                  "Tries what this host can enforce, says why something cannot be, and what to do\n"
                  "about it.\n\n");
    option_help(&table, out);
    buf_puts(out, "\nThe exit status is 0 if the default profile (stage) can be enforced in full,\n"
                  "1 if not, 2 for a usage error.\n");
}

static int examine(const struct doctor_flags *flags, struct buf *out)
{
    const struct doctor_options options = {
        .profile = flags->profile_given ? (int)flags->profile : -1,
        .path = getenv("PATH"),
        .has_test = cli_has_command("test"),
        .has_audit = cli_has_command("audit"),
    };
    struct doctor *d = malloc(sizeof *d);
    if (d == NULL)
        return EXIT_SETUP;
    doctor_examine(d, &options);
    if (d->answers[DOCTOR_BWRAP].available && !d->bwrap.trusted)
        message_warning("bwrap comes from PATH: %s", d->bwrap.path);
    if (flags->json)
        doctor_write_json(d, out);
    else
        doctor_write_text(d, message_colour(STDOUT_FILENO), out);
    int status = d->standard.enforceable ? 0 : EXIT_LACKING;
    free(d);
    return status;
}

int cli_doctor(int argc, char **argv)
{
    struct doctor_flags flags = {0};
    BUF_AUTO out = BUF_INIT(OUTPUT_MAX);
    int status = 0;
    if (read_options(&flags, argc - 2, argv + 2) < 0)
        return EXIT_USAGE;
    if (flags.help)
        put_help(&out);
    else
        status = examine(&flags, &out);
    return message_print(&out) < 0 ? EXIT_SETUP : status;
}
