/* Test vectors of MaxPool for programs that never run Python. C99 and C++; no heap, no files, no other headers. */
#ifndef MAXPOOL_KIT_H
#define MAXPOOL_KIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An attribute as the document has it, also a wrong one. One that is absent has its default. */
struct maxpool_attribute {
    const char *name;
    const char *text; /* its value, such as SAME_UPPER, where that is text; otherwise NULL */
    size_t count;     /* its integers */
    const int64_t *values;
};

/* What the attributes come to on a spatial axis; padding is negative where X is cropped. */
struct maxpool_axis {
    int64_t size, kernel, stride, dilation, padding_before, padding_behind, windows;
};

struct maxpool_test {
    const char *id;    /* PATH:NAME of the case: maxpool-check explain KIT/PATH.yaml:NAME draws its windows */
    const char *dtype; /* of X and Y: float32, float16, bfloat16, int8, ...; float16 and bfloat16 come as their bits */
    size_t cell;       /* the bytes of a cell of X and Y */
    size_t rank;       /* of X and Y: batch, channels and spatial axes, in the document's layout */
    const int64_t *shape;
    size_t attribute_count;
    const struct maxpool_attribute *attributes;
    const struct maxpool_axis *axes; /* one for each spatial axis; NULL if the attributes must be refused */
    const int64_t *output_shape;     /* of Y and Indices; NULL likewise */
};

/* What a kernel returns: the outputs are written; the attributes or the type are refused; or the kernel is not made for such a
   test, which then counts neither way. */
enum { MAXPOOL_DONE, MAXPOOL_REFUSED, MAXPOOL_UNABLE };

/* A kernel: writes Y, and Indices unless indices is NULL. */
typedef int (*maxpool_kernel)(const struct maxpool_test *test, const void *x, void *y, int64_t *indices);

/* Receives text in pieces; a line ends with \n. */
typedef void (*maxpool_print)(const char *text);

/* The attribute of that name; NULL if it is absent. */
const struct maxpool_attribute *maxpool_find(const struct maxpool_test *test, const char *name);

/* Runs every vector, with Indices and without; the number of vectors that fail, or -1 if the kernel is unable to run any.
   What it prints is a file for maxpool-check run KIT -t outputs:FILE; "conforms": false marks a failure, and the last line says which
   mistakes would have gone unnoticed. */
int maxpool_kit(const char *name, const char *version, maxpool_kernel kernel, maxpool_print print);

/* The same with the vector of one case; 1 if the kit has no such vector. */
int maxpool_kit_one(const char *id, maxpool_kernel kernel, maxpool_print print);

/* The same as maxpool_kit with vectors whose X is large, for mistakes that need that: memory has maxpool_kit_large_bytes() bytes, and is aligned
   for every type. The kit's folder has no cases for them: name the corpus of maxpool-check instead of KIT. A kit without such vectors
   needs 0 bytes, and has no maxpool_kit_large. */
size_t maxpool_kit_large_bytes(void);
int maxpool_kit_large(const char *name, const char *version, maxpool_kernel kernel, maxpool_print print, void *memory);

#ifdef __cplusplus
}
#endif
#endif
