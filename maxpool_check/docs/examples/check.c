#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* w: for rows, then for columns: size of X, kernel, stride, dilation, padding before and behind, number of windows */
void max_pool(const float *X, long planes, const long w[14], float *Y, int64_t *Indices);
static char *after(char *text, const char *key) { /* no text of a test holds a key: its quotes follow a backslash */
    return text && (text = strstr(text, key)) ? text + strlen(key) : NULL;
}
static void decode(const char *hex, unsigned char *bytes, long size) {
    for (char two[3] = ""; size-- > 0; hex += 2) memcpy(two, hex, 2), *bytes++ = strtoul(two, NULL, 16);
}
static int same(const char *hex, const void *value, long size) {
    unsigned char bits[8];
    return decode(hex, bits, size), !memcmp(bits, value, size);
}
static int right(char *output, const char *value, long count, long size) { /* each cell has one of its right values */
    char *hex = after(output, "\"hex\":\""), *end = strchr(hex, '"'), *p, more[40];
    if (end - hex != 2 * size * count) return 0;
    for (long at = 0, cell, number, ok; at < count; at++, hex += 2 * size, value += size) {
        p = strncmp(end, "\",\"also\":[", 10) ? end : end + 10;
        for (ok = same(hex, value, size); !ok && sscanf(p, "[%ld,%39[^]]", &cell, more) == 2; p = strchr(p, ']') + 2)
            if (cell == at && strcmp(more, "\"no-cell\"")) ok = !strcmp(more, "null") || same(more + 1, value, size);
            else if (cell == at) memcpy(&number, value, 8), ok = number < 0 || number >= atol(after(output, "\"bound\":"));
        if (!ok) return 0;
    }
    return 1;
}
static int paired(char *p, const float *Y, const int64_t *Indices) { /* cells that go together */
    char y[40], index[40];
    long at, cell, last = -1, ok = 1;
    for (; p && sscanf(p, "[%ld,%ld,\"%39[^,],\"%39[^]]", &at, &cell, y, index) == 4 && (ok || at == last); last = at)
        ok = (ok && at == last) || (same(y, Y + at, 4) && same(index, Indices + cell, 8)), p = strchr(p, ']') + 2;
    return ok;
}
int main(void) {
    static char line[1 << 24], *x, *p, *next;
    static float X[1 << 17], Y[1 << 17];
    static int64_t I[1 << 17];
    long known = 0, expected = -1, all = 0, tests = 0, wrong = 0, n, c, w[15], k, count, ok;
    while (fgets(line, sizeof line, stdin)) {
        if (!strchr(line, '\n')) return puts("the file ends within a line, or a line is too long for this program"), 2;
        sscanf(line, "\"numberOfTests\":%ld", &expected), all += !strncmp(line, "{\"id\":", 6);
        known = known || strstr(line, "\"layout\":\"channels-first\""); /* none of the tests applies to another layout */
        x = after(line, "\"X\":{\"dtype\":\"float32\",\"shape\":["), p = after(line, "\"results\":[{\"windows\":");
        if (!known || !x || !p || strstr(line, "\"graph\":") || strstr(line, "\"storage_order\":1")) continue;
        if ((next = after(p, "},{\"windows\":"))) *next = 0; /* other windows, which this kernel is not told */
        for (k = 0; k < 15 && *(p += strspn(p, "[],")) != '"'; k++) w[k] = strtol(p, &p, 10);
        if (k != 14 || sscanf(x, "%ld,%ld", &n, &c) != 2) continue;
        if ((double)n * c * w[0] * w[7] > 1 << 17 || (double)n * c * w[6] * w[13] > 1 << 17)
            return printf("too large for this program: %.60s\n", line), 2;
        decode(after(x, "\"hex\":\""), (unsigned char *)X, 4 * n * c * w[0] * w[7]), max_pool(X, n * c, w, Y, I);
        for (k = 0, count = n * c * w[6] * w[13]; k < count; k++) if (Y[k] != Y[k]) memcpy(Y + k, "\0\0\300\177", 4);
        ok = right(after(p, "\"Y\":{"), (char *)Y, count, 4) && paired(after(p, "\"together\":["), Y, I);
        if (ok && (p = after(p, "\"Indices\":{"))) ok = right(p, (char *)I, count, 8);
        if (tests++, !ok) wrong++, printf("wrong: %.60s\n", line);
    }
    if (all != expected) return printf("the file has %ld of %ld tests: it is not whole\n", all, expected), 2;
    return printf("%ld of %ld tests apply, %ld of them are wrong\n", tests, all, wrong), wrong || !tests;
}
