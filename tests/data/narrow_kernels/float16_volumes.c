/* MaxPool of float16 over three axes, with dilations, without Indices: on the bits, without arithmetic. */
#include <string.h>
#include "maxpool_kit.h"

#define MINUS_INFINITY 0xfc00u

/* The cells of an axis that a window has: from the first one, in steps of the dilation. */
struct cells {
    int64_t first, end;
};

static struct cells cells_of(const struct maxpool_axis *axis, int64_t window) {
    struct cells cells;
    cells.first = window * axis->stride - axis->padding_before;
    cells.end = cells.first + (axis->kernel - 1) * axis->dilation + 1;
    while (cells.first < 0) cells.first += axis->dilation;
    if (cells.end > axis->size) cells.end = axis->size;
    return cells;
}

/* A number that is greater where the value is; both zeros are 0. */
static int rank_of(uint16_t bits) {
    const int magnitude = bits & 0x7fff;
    return bits & 0x8000 ? -magnitude : magnitude;
}

static int is_nan(uint16_t bits) {
    return (bits & 0x7fff) > 0x7c00;
}

static int is_greater(uint16_t a, uint16_t b) {
    return !is_nan(a) && !is_nan(b) && rank_of(a) > rank_of(b);
}

int max_pool(const struct maxpool_test *test, const void *x, void *y, int64_t *indices) {
    if (!test->axes) return MAXPOOL_REFUSED;
    if (strcmp(test->dtype, "float16") != 0 || test->rank != 5 || indices) return MAXPOOL_UNABLE;
    const struct maxpool_axis depth = test->axes[0], height = test->axes[1], width = test->axes[2];
    const int64_t volumes = test->shape[0] * test->shape[1];
    const uint16_t *X = (const uint16_t *)x;
    uint16_t *Y = (uint16_t *)y;
    for (int64_t volume = 0; volume < volumes; volume++)
        for (int64_t i = 0; i < depth.windows; i++)
            for (int64_t j = 0; j < height.windows; j++)
                for (int64_t k = 0; k < width.windows; k++) {
                    const struct cells a = cells_of(&depth, i), b = cells_of(&height, j), c = cells_of(&width, k);
                    uint16_t best = MINUS_INFINITY;
                    int is_first = 1;
                    for (int64_t z = a.first; z < a.end; z += depth.dilation)
                        for (int64_t row = b.first; row < b.end; row += height.dilation)
                            for (int64_t column = c.first; column < c.end; column += width.dilation) {
                                const uint16_t cell = X[((volume * depth.size + z) * height.size + row) * width.size + column];
                                if (is_first || is_greater(cell, best)) best = cell;
                                is_first = 0;
                            }
                    *Y++ = best;
                }
    return MAXPOOL_DONE;
}
