/* A kernel behind the protocol of maxpool-check: MaxPool of float32 over one or two axes. For your own, change pool().
   cc -O2 -o maxpool maxpool.c && maxpool-check run corpus:edge -t "command:./maxpool" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { long size, kernel, stride, dilation, begin, end, windows; } Axis;
static const char *FLAG[] = {"0", "1", NULL}, *PADDING[] = {"\"NOTSET\"", "\"VALID\"", "\"SAME_UPPER\"", "\"SAME_LOWER\"", NULL};
static const char *B64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static const char *find(const char *json, const char *name) { /* the value of a key: one blank follows each colon */
    char key[64];
    snprintf(key, sizeof key, "\"%s\": ", name);
    return strstr(json, key) ? strstr(json, key) + strlen(key) : " ]";
}

static int list(const char *json, const char *name, long *to, int most) { /* how many integers a list has */
    const char *at = find(json, name) + 1;
    int count = 0;
    for (; *at != ']' && count < most; at += *at == ',') to[count++] = strtol(at, (char **)&at, 10);
    return count; /* the most, if it is no list of integers */
}

static int choice(const char *json, const char *name, const char **values) { /* which value it is; -1: none of them */
    const char *at = find(json, name);
    for (int i = 0; values[i]; i++)
        if (!strncmp(at, values[i], strlen(values[i])) && strchr(",}", at[strlen(values[i])])) return i;
    return -1;
}

static int resolve(Axis *x, int same, int lower, int ceil_mode) { /* the padding and the windows; 0: refuse */
    if (x->kernel < 1 || x->stride < 1 || x->dilation < 1 || x->begin < 0 || x->end < 0) return 0;
    long span = (x->kernel - 1) * x->dilation + 1, room = x->size + x->begin + x->end - span;
    if (same) room = x->size - 1, ceil_mode = 0;
    if (room < 0) return x->windows = 0, same;
    x->windows = room / x->stride + (ceil_mode && room % x->stride > 0) + 1;
    long last = (x->windows - 1) * x->stride, pads = last + span - x->size;
    if (same) x->begin = pads < 0 ? 0 : (pads + lower) / 2;
    else if (ceil_mode && last >= x->size + x->begin) x->windows--; /* rounded up, it would begin in the padding */
    return 1;
}

static void pool(const float *X, Axis r, Axis c, long count, int by_columns, float *Y, long long *Indices) {
    for (long y = 0; y < count; y++) { /* r: rows, c: columns; Y is 0 where a window misses X */
        long plane = y / (r.windows * c.windows), best = Indices[y] = -1;
        long top = y / c.windows % r.windows * r.stride - r.begin, left = y % c.windows * c.stride - c.begin;
        for (long i = 0, h = top; i < r.kernel; i++, h += r.dilation)
            for (long j = 0, w = left; j < c.kernel; j++, w += c.dilation) {
                long cell = (plane * r.size + h) * c.size + w;
                if (h < 0 || h >= r.size || w < 0 || w >= c.size || (best >= 0 && !(X[cell] > X[best]))) continue;
                best = cell, Y[y] = X[cell];
                Indices[y] = by_columns ? (plane * c.size + w) * r.size + h : cell;
            }
    }
}

static void print(const char *name, const char *dtype, const long *shape, int rank, const unsigned char *b, long n) {
    printf("%s: {\"dtype\": \"%s\", \"shape\": [", name, dtype);
    for (int a = 0; a < rank; a++) printf("%ld%s", shape[a], a + 1 < rank ? ", " : "], \"data\": \"");
    for (; n > 0; b += 3, n -= 3) {
        unsigned v = b[0] << 16 | (n > 1 ? b[1] << 8 : 0) | (n > 2 ? b[2] : 0);
        printf("%c%c%c%c", B64[v >> 18], B64[v >> 12 & 63], n > 1 ? B64[v >> 6 & 63] : '=', n > 2 ? B64[v & 63] : '=');
    }
    printf("\"}");
}

static void respond(const char *q) { /* a request has ONNX's seven attributes, valid or not */
    long n[5], k[3], s[3], d[3], p[5];
    int rank = list(q, "shape", n, 5), axes = rank - 2, keys = 0, padding = choice(q, "auto_pad", PADDING);
    int ceil_mode = choice(q, "ceil_mode", FLAG), by_columns = choice(q, "storage_order", FLAG);
    for (const char *c = find(q, "attributes"); *c && *c != '}'; c++) keys += *c == ':';
    int fits = keys == 7 && padding >= 0 && ceil_mode >= 0 && by_columns >= 0 && list(q, "kernel_shape", k, 3) == axes &&
               list(q, "strides", s, 3) == axes && list(q, "dilations", d, 3) == axes && list(q, "pads", p, 5) == 2 * axes;
    Axis x[2] = {{1, 1, 1, 1, 0, 0, 1}, {1, 1, 1, 1, 0, 0, 1}}, *axis = x + 2 - axes;
    long out = n[0] * n[1], cells = out;
    for (int a = 0; fits && a < axes; cells *= axis[a].size, out *= n[2 + a] = axis[a].windows, a++) {
        axis[a] = (Axis){n[2 + a], k[a], s[a], d[a], padding ? 0 : p[a], padding ? 0 : p[axes + a], 0};
        fits = resolve(axis + a, padding / 2, padding % 2, ceil_mode);
    }
    printf("{\"id\": %ld, \"type\": ", strtol(find(q, "id"), NULL, 10));
    if (!fits) return (void)puts("\"refusal\", \"status\": \"INVALID_ARGUMENT\", \"message\": \"no such MaxPool\"}");
    void *X = malloc(4 * cells), *Y = calloc(out, 4), *Indices = malloc(8 * out); /* exact, for AddressSanitizer */
    unsigned char *byte = X;
    const char *c = find(q, "data") + 1;
    for (unsigned v = 0, bits = 0; *c != '"' && *c != '='; c++)
        if (v = v << 6 | (unsigned)(strchr(B64, *c) - B64), (bits += 6) >= 8) *byte++ = v >> (bits -= 8);
    pool(X, x[0], x[1], out, by_columns, Y, Indices);
    print("\"result\", \"outputs\": {\"Y\"", "float32", n, rank, Y, 4 * out);
    if (strstr(q, "\"Indices\"")) print(", \"Indices\"", "int64", n, rank, Indices, 8 * out);
    puts("}}"), free(X), free(Y), free(Indices);
}

int main(void) {
    char *line = NULL; size_t room = 0;
    if (getline(&line, &room, stdin) < 0) return 1;
    puts("{\"type\": \"ready\", \"protocol\": 1, \"distribution\": \"example-c\", \"version\": \"1.0\", "
         "\"dtypes\": [\"float32\"], \"spatial\": [1, 2]}");
    for (fflush(stdout); getline(&line, &room, stdin) > 0; fflush(stdout)) respond(line);
    return free(line), 0;
}
