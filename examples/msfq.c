/* MSFQ, on demand, for light jobs (class 0, one server) and heavy jobs (class 1, all servers).
 *
 *     cc -O2 -shared -fPIC -I FOLDER_OF_THE_HEADER -o msfq.so msfq.c
 *     quickswap.LibraryPolicy("msfq.so", state=[31, 0], sees_heads=False, remembers_order=False)
 */
#include "quickswap_policy.h"

int64_t start(const struct qs_view *view)
{
    const int64_t threshold = view->state[0].whole;
    int64_t *draining = &view->state[1].whole;
    const int64_t lights = view->waiting[0] + view->running[0];

    if (view->running[1] > 0)
        return QS_NONE;
    if (*draining) {
        if (view->running[0] > 0)
            return QS_NONE;
        if (view->waiting[1] > 0)
            return 1;
        *draining = 0;
    }
    if (view->waiting[0] > 0 && view->free > 0)
        return 0;
    if (view->waiting[1] > 0 && lights <= threshold) {
        *draining = 1;
        if (view->running[0] == 0)
            return 1;
    }
    return QS_NONE;
}
