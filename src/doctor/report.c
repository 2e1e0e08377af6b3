/* The report for people: a table, the ledger of a profile, a summary. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/text.h"
#include "doctor/acts.h"
#include "doctor/doctor.h"

#define KEY_WIDTH 15
#define INDENT (2 + KEY_WIDTH + 1 + 4) /* where the words begin */
#define COLUMNS 96

enum mark { MARK_YES, MARK_NO, MARK_NONE };

static void put_mark(struct buf *out, enum mark mark, bool bad, bool colour)
{
    static const char *const words[] = {[MARK_YES] = "yes", [MARK_NO] = "no ", [MARK_NONE] = "-  "};
    const char *code = mark == MARK_YES ? "32" : bad ? "31" : "33";
    if (colour && mark != MARK_NONE)
        buf_printf(out, "\033[%sm%s\033[0m ", code, words[mark]);
    else
        buf_printf(out, "%s ", words[mark]);
}

/* Words in lines of their own width; what was read from the host cannot move the cursor. */
static void put_words(struct buf *out, const char *text)
{
    char escaped[1024];
    size_t column = INDENT;
    text_escape(escaped, sizeof escaped, text, strlen(text));
    for (const char *p = escaped; *p != '\0'; p += *p == ' ') {
        size_t len = strcspn(p, " ");
        if (column > INDENT && column + 1 + len > COLUMNS) {
            buf_printf(out, "\n%*s", INDENT, "");
            column = INDENT;
        } else if (column > INDENT) {
            buf_puts(out, " ");
            column++;
        }
        buf_append(out, p, len);
        column += len;
        p += len;
    }
    buf_puts(out, "\n");
}

static void put_line(struct buf *out, const char *key, enum mark mark, bool bad, bool colour,
                     const char *text)
{
    buf_printf(out, "  %-*s ", KEY_WIDTH, key);
    put_mark(out, mark, bad, colour);
    put_words(out, text);
}

/* A command is copied by people: it stays in one line. */
static void put_remedy(struct buf *out, const struct doctor_cause *cause)
{
    char escaped[1024];
    if (cause->remedy[0] == '\0')
        return;
    text_escape(escaped, sizeof escaped, cause->remedy, strlen(cause->remedy));
    buf_printf(out, "%*sfix: %s\n", INDENT, "", escaped);
}

static void put_answer(const struct doctor *d, enum doctor_id id, bool colour, struct buf *out)
{
    const struct doctor_answer *answer = &d->answers[id];
    char text[512];
    int n = snprintf(text, sizeof text, "%s", answer->cause.reason);
    if (answer->available && id == DOCTOR_LANDLOCK)
        snprintf(text + n, sizeof text - (size_t)n, " (ABI %llu)", (unsigned long long)answer->number);
    if (answer->available && id == DOCTOR_SECCOMP_NOTIFY)
        snprintf(text + n, sizeof text - (size_t)n, "%s%s%s",
                 (answer->number & NOTIFY_ADDFD_SEND) != 0 ? "; addfd+send" : "",
                 (answer->number & NOTIFY_WAIT_KILLABLE) != 0 ? "; wait_killable" : "",
                 (answer->number & NOTIFY_SYNC_WAKE_UP) != 0 ? "; sync_wake_up" : "");
    put_line(out, doctor_key(id), answer->available ? MARK_YES : MARK_NO, doctor_needed(id), colour,
             text);
    if (!answer->available)
        put_remedy(out, &answer->cause);
    if (id != DOCTOR_LANDLOCK || !answer->available)
        return;
    for (int abi = (int)answer->number + 1; doctor_landlock_adds(abi) != NULL; abi++)
        buf_printf(out, "%*sABI %d would add: %s\n", INDENT, "", abi, doctor_landlock_adds(abi));
}

static void put_ledger(const struct doctor_trial *trial, bool colour, struct buf *out)
{
    buf_printf(out, "\nprofile %s, as a run of `true` had it\n", trial->profile);
    if (trial->status == STATUS_INTERNAL_ERROR) {
        put_line(out, "", MARK_NO, true, colour, "nothing ran");
        return;
    }
    for (unsigned i = 0; i < CAPABILITY_COUNT; i++) {
        const struct ledger_entry *e = &trial->ledger.entries[i];
        const bool asked = ledger_asked(e);
        char text[512];
        snprintf(text, sizeof text, "%s%s%s", e->applied ? e->mechanism : "",
                 e->applied && e->details[0] != '\0' ? ": " : "", e->details);
        put_line(out, capability_name((enum capability)i),
                 e->applied ? MARK_YES : asked ? MARK_NO : MARK_NONE, true, colour, text);
    }
}

static void put_layers(const struct doctor *d, bool colour, struct buf *out)
{
    buf_puts(out, "\nlayers of cordon test\n");
    for (unsigned i = 0; i < DOCTOR_LAYER_COUNT; i++)
        put_line(out, doctor_layer_name((enum doctor_layer)i), d->layers[i].on ? MARK_YES : MARK_NO,
                 false, colour, d->layers[i].reason);
}

static void put_summary(const struct doctor_trial *trial, const char *what, bool colour,
                        struct buf *out)
{
    char escaped[1024];
    text_escape(escaped, sizeof escaped, trial->cause.reason, strlen(trial->cause.reason));
    const char *on = !colour ? "" : trial->enforceable ? "\033[32m" : "\033[31m";
    const char *off = colour ? "\033[0m" : "";
    buf_printf(out, "%s%s %s %s be enforced in full on this host%s%s%s\n", on, what, trial->profile,
               trial->enforceable ? "can" : "cannot", off, trial->enforceable ? "" : ": ",
               trial->enforceable ? "" : escaped);
    if (!trial->enforceable && trial->cause.remedy[0] != '\0') {
        text_escape(escaped, sizeof escaped, trial->cause.remedy, strlen(trial->cause.remedy));
        buf_printf(out, "  fix: %s\n", escaped);
    }
}

void doctor_write_text(const struct doctor *d, bool colour, struct buf *out)
{
    struct utsname host;
    const char *group = "";
    buf_printf(out, "cordon %s, Linux %s, uid %u%s%s\n", CORDON_VERSION,
               uname(&host) == 0 ? host.release : "?", (unsigned)d->setting.uid,
               d->setting.container[0] != '\0' ? ", in a container: " : "", d->setting.container);
    for (unsigned i = 0; i < DOCTOR_COUNT; i++) {
        if (strcmp(group, doctor_group((enum doctor_id)i)) != 0) {
            group = doctor_group((enum doctor_id)i);
            buf_printf(out, "\n%s\n", group);
        }
        put_answer(d, (enum doctor_id)i, colour, out);
    }
    const struct doctor_trial *shown = d->asked_given ? &d->asked : &d->standard;
    if (d->asked_given || !d->standard.enforceable)
        put_ledger(shown, colour, out);
    if (d->layers_given)
        put_layers(d, colour, out);
    buf_puts(out, "\n");
    if (d->asked_given && d->asked.profile != d->standard.profile)
        put_summary(&d->asked, "the profile", colour, out);
    put_summary(&d->standard, "the default profile", colour, out);
    if (!d->standard.enforceable)
        buf_puts(out, "  until then: --allow-partial runs with what there is, and says what is missing; for code "
                      "that you trust look at cordon doctor --profile limits\n");
}
