#include "cli/call_list.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/message.h"

#define LIST_MAX (256u * 1024 * 1024)

struct listing {
    struct buf *out;
    struct json_writer w;
};

static void put_line(void *context, const char *id, const struct module *module,
                     const struct cordon_error *err)
{
    struct listing *l = context;
    char about[256] = "";
    if (module == NULL) {
        message_error(err);
        return;
    }
    const char *text = module->manifest.description;
    if (text != NULL)
        text_escape(about, sizeof about, text, strlen(text));
    buf_printf(l->out, "%-32s %-8s%s%s\n", id, module->manifest.library != NULL ? "library" : "command",
               about[0] != '\0' ? " " : "", about);
}

static void put_object(void *context, const char *id, const struct module *module,
                       const struct cordon_error *err)
{
    struct listing *l = context;
    char why[1024];
    json_begin(&l->w, '{');
    json_put_string(&l->w, "id", id);
    if (module == NULL) {
        cordon_error_format(err, why, sizeof why);
        json_put_string(&l->w, "error", why);
    } else {
        json_put_string(&l->w, "kind", module->manifest.library != NULL ? "library" : "command");
        json_put_string(&l->w, "description", module->manifest.description);
    }
    json_end(&l->w, '}');
}

int call_list(const struct module_root *root, struct arena *arena, bool json, struct cordon_error *err)
{
    BUF_AUTO out = BUF_INIT(LIST_MAX);
    struct listing l = {.out = &out, .w = JSON_WRITER(&out, 0)};
    if (json) {
        json_begin(&l.w, '{');
        json_key(&l.w, "modules");
        json_begin(&l.w, '[');
    }
    if (module_each(root, arena, json ? put_object : put_line, &l, err) < 0) {
        message_error(err);
        return MODULE_EXIT_UNLOADED;
    }
    if (json) {
        json_end(&l.w, ']');
        json_end(&l.w, '}');
        buf_puts(&out, "\n");
    }
    return message_print(&out) < 0 ? EXIT_SETUP : 0;
}
