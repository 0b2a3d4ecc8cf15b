/* MaxPool of uint8 over one axis, with Indices, without dilations. On one axis, both values of storage_order mean the same. */
#include <string.h>
#include "maxpool_kit.h"

int max_pool(const struct maxpool_test *test, const void *x, void *y, int64_t *indices) {
    if (!test->axes) return MAXPOOL_REFUSED;
    if (strcmp(test->dtype, "uint8") != 0 || test->rank != 3 || test->axes->dilation != 1) return MAXPOOL_UNABLE;
    const struct maxpool_axis axis = test->axes[0];
    uint8_t *Y = (uint8_t *)y;
    const int64_t lines = test->shape[0] * test->shape[1];
    for (int64_t line = 0; line < lines; line++) {
        const uint8_t *cells = (const uint8_t *)x + line * axis.size;
        for (int64_t window = 0; window < axis.windows; window++) {
            int64_t first = window * axis.stride - axis.padding_before, end = first + axis.kernel, best = -1;
            if (first < 0) first = 0;
            if (end > axis.size) end = axis.size;
            for (int64_t at = first; at < end; at++)
                if (best < 0 || cells[at] > cells[best]) best = at;
            *Y++ = best < 0 ? 0 : cells[best];
            if (indices) *indices++ = best < 0 ? -1 : line * axis.size + best;
        }
    }
    return MAXPOOL_DONE;
}
