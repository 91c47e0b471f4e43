/* seeing.c -- the parts of an observation: images, grids and lists through convolutions, ids as
 * ones among zeros. A row of D numbers becomes one of E, which the encoder's matrix reads: the
 * numbers that no part takes, then the features of each part.
 *
 * Cells lie [row of the batch][y][x][channel]. A convolution copies what each of its filters sees
 * into a row of `columns` and multiplies: the products are the network's own. Backward it copies
 * again, and adds the gradients of what was seen back to where it was seen. Both work on a few
 * rows of the batch at a time, through all layers of a part, so that they stay in cache. */
#include "internal.h"
#include <string.h>

#define CELL_BYTES   (192 << 10)    // of the cells of a part that are worked on at a time
#define MOST_ROWS    32
#define COLUMN_BYTES (256 << 10)    // of the columns that one product reads
#define COLUMN_TILE  12             // rows of a product go in dozens

// ---- sizes ------------------------------------------------------------------------------------

static int32_t inputs_of(const PufferPart* part) {    // numbers of a cell
    int32_t inputs = part->has_ids ? 0 : part->channels;
    for (int32_t c = 0; c < part->channels && part->has_ids; c++)
        inputs += part->ids[c] ? part->ids[c] : 1;
    return inputs;
}

static int64_t cells_of(const Part* part) {    // floats of a row before the first convolution
    return (int64_t)part->about.height * part->about.width * part->inputs;
}

static int64_t outputs_of(const Convolution* layer) {    // floats of a row, padding included
    return (int64_t)layer->height * layer->width * layer->padded;
}

// What a layer sees, and its number among the matrices
static void size_layer(Policy* policy, Part* part, int32_t l, int32_t matrix) {
    const PufferConvolution* about = &part->about.convolutions[l];
    const Convolution* before = l ? &part->layers[l - 1] : NULL;
    Convolution* layer = &part->layers[l];
    int unit = 2 * policy->kernels->lanes;
    layer->kernel = about->kernel;
    layer->stride = about->stride;
    layer->filters = about->filters;
    layer->padded = (int32_t)round_up(about->filters, unit);
    layer->in_height = before ? before->height : part->about.height;
    layer->in_width = before ? before->width : part->about.width;
    layer->in_channels = before ? before->filters : part->inputs;
    layer->in_padded = before ? before->padded : part->inputs;
    layer->height = (layer->in_height - layer->kernel) / layer->stride + 1;
    layer->width = (layer->in_width - layer->kernel) / layer->stride + 1;
    layer->terms = layer->kernel * layer->kernel * layer->in_channels;
    layer->terms_padded = (int32_t)round_up(layer->terms, unit);
    layer->ldc = (int32_t)round_up(layer->terms_padded, 16) + 16;    // an odd number of lines
    int32_t most = COLUMN_BYTES / (int32_t)sizeof(float) / layer->ldc / COLUMN_TILE;
    layer->at_a_time = COLUMN_TILE * (most > 1 ? most : 2);
    layer->matrix = matrix;
}

static int32_t check_part(const PufferPart* part, int32_t obs_size, int32_t after, Error* error) {
    int64_t count = (int64_t)part->height * part->width * part->channels;
    int ids_fit = !part->has_ids || part->channels <= PUFFER_MAX_CHANNELS;
    if (part->first < after || part->height < 1 || part->width < 1 || part->channels < 1
        || part->first + count > obs_size || !ids_fit || part->mask >= part->channels
        || part->num_convolutions < 0 || part->num_convolutions > PUFFER_MAX_CONVOLUTIONS
        || (part->pooled && !part->num_convolutions))
        return fail(error, "the part from element %d on does not fit an observation of %d",
                    part->first, obs_size);
    int64_t height = part->height, width = part->width;
    for (int32_t l = 0; l < part->num_convolutions; l++) {
        const PufferConvolution* layer = &part->convolutions[l];
        if (layer->filters < 1 || layer->kernel < 1 || layer->stride < 1 || layer->kernel > height
            || layer->kernel > width)
            return fail(error, "convolution %d of the part from element %d on sees too little", l,
                        part->first);
        height = (height - layer->kernel) / layer->stride + 1;
        width = (width - layer->kernel) / layer->stride + 1;
    }
    return 0;
}

int32_t seeing_init(Policy* policy, const PufferTrainerConfig* config, Error* error) {
    Seeing* seeing = &policy->seeing;
    int32_t after = 0, matrix = config->num_layers + 2;
    int64_t features = 0, taken = 0;
    if (config->num_parts < 0 || config->num_parts > PUFFER_MAX_PARTS)
        return fail(error, "num_parts is %d, not from 0 to %d", config->num_parts,
                    PUFFER_MAX_PARTS);
    for (int32_t p = 0; p < config->num_parts; p++) {
        Part* part = &seeing->parts[seeing->count++];
        part->about = config->parts[p];
        if (check_part(&part->about, config->obs_size, after, error)) return -1;
        part->inputs = inputs_of(&part->about);
        part->count = part->about.height * part->about.width * part->about.channels;
        part->num_layers = part->about.num_convolutions;
        for (int32_t l = 0; l < part->num_layers; l++) size_layer(policy, part, l, matrix++);
        const Convolution* last = part->num_layers ? &part->layers[part->num_layers - 1] : NULL;
        int64_t found = !last                ? cells_of(part)
                        : part->about.pooled ? last->filters
                                             : (int64_t)last->height * last->width * last->filters;
        part->first_feature = (int32_t)features;
        part->features = (int32_t)found;
        int64_t rows = CELL_BYTES / (int64_t)sizeof(float) / (cells_of(part) + 1);
        part->at_a_time = rows < 4 ? 4 : rows > MOST_ROWS ? MOST_ROWS : (int32_t)rows;
        after = part->about.first + part->count;
        taken += part->count;
        features += found;
        if (features > 1 << 24) return fail(error, "the parts give more than 2^24 features");
    }
    seeing->plain = (int32_t)(config->obs_size - taken);
    seeing->features = (int32_t)features;
    seeing->features_padded = (int32_t)round_up(features, 2 * policy->kernels->lanes);
    seeing->matrices = matrix - config->num_layers - 2;
    policy->E = seeing->count ? seeing->plain + seeing->features : config->obs_size;
    policy->lde = (int32_t)round_up(policy->E, 16) + 16;
    return 0;
}

double seeing_products(const Policy* policy) {
    double total = (double)policy->E * policy->H;
    for (int32_t p = 0; p < policy->seeing.count; p++)
        for (int32_t l = 0; l < policy->seeing.parts[p].num_layers; l++) {
            const Convolution* layer = &policy->seeing.parts[p].layers[l];
            total += (double)layer->height * layer->width * layer->terms * layer->filters;
        }
    return total;
}

void seeing_plan(Policy* policy, Arena* weights) {
    Seeing* seeing = &policy->seeing;
    if (!seeing->count) return;
    ARENA_ADD(weights, seeing->features_backward, (int64_t)policy->H * seeing->features_padded);
    for (int32_t p = 0; p < seeing->count; p++)
        for (int32_t l = 0; l < seeing->parts[p].num_layers; l++) {
            Convolution* layer = &seeing->parts[p].layers[l];
            ARENA_ADD(weights, layer->forward, (int64_t)layer->terms * layer->padded);
            if (l)
                ARENA_ADD(weights, layer->backward, (int64_t)layer->filters * layer->terms_padded);
        }
}

int64_t seeing_row(const Policy* policy) {
    const Seeing* seeing = &policy->seeing;
    int64_t floats = seeing->count ? policy->lde + seeing->features_padded : 0;
    for (int32_t p = 0; p < seeing->count; p++)
        for (int32_t l = 0; l < seeing->parts[p].num_layers; l++)
            floats += outputs_of(&seeing->parts[p].layers[l]);
    return floats;
}

void seeing_plan_work(const Policy* policy, Workspace* work, Arena* arena, int64_t rows,
                      int train) {
    const Seeing* seeing = &policy->seeing;
    int64_t cells = 0, columns = 0, gradients = 0;
    if (!seeing->count) return;
    for (int32_t p = 0; p < seeing->count; p++) {
        const Part* part = &seeing->parts[p];
        int64_t here = part->at_a_time * cells_of(part);
        cells = here > cells ? here : cells;
        for (int32_t l = 0; l < part->num_layers; l++) {
            const Convolution* layer = &part->layers[l];
            int64_t column = (int64_t)layer->at_a_time * layer->ldc;
            int64_t out = part->at_a_time * outputs_of(layer);
            columns = column > columns ? column : columns;
            gradients = out > gradients ? out : gradients;
            ARENA_ADD(arena, work->seen_outputs[p][l], rows * outputs_of(layer));
        }
    }
    ARENA_ADD(arena, work->seen, rows * policy->lde);
    ARENA_ADD(arena, work->seen_cells, cells);
    ARENA_ADD(arena, work->seen_columns, columns);
    if (!train) return;
    ARENA_ADD(arena, work->dseen, rows * seeing->features_padded);
    ARENA_ADD(arena, work->dcells[0], gradients);
    ARENA_ADD(arena, work->dcells[1], gradients);
}

// The factor of each row of a matrix: of the encoder's plain numbers, and of the channels that a
// part's first convolution sees. Features, and what becomes of ids, have none
void seeing_factors(const Policy* policy, const float* obs_scale) {
    const Seeing* seeing = &policy->seeing;
    float* encoder = policy->matrices[0].factors;
    int32_t row = 0, from = 0;
    for (int32_t p = 0; p <= seeing->count; p++) {
        const Part* part = p < seeing->count ? &seeing->parts[p] : NULL;
        int32_t end = part ? part->about.first : policy->D;
        for (; from < end; from++) encoder[row++] = obs_scale[from];
        if (!part) break;
        from += part->count;
        if (!part->num_layers) continue;
        float* factors = policy->matrices[part->layers[0].matrix].factors;
        int32_t step = part->about.planes ? part->about.height * part->about.width : 1;
        for (int32_t at = 0; at < part->layers[0].terms;)
            for (int32_t c = 0; c < part->about.channels; c++) {
                int32_t ids = part->about.has_ids ? part->about.ids[c] : 0;
                if (!ids) factors[at++] = obs_scale[part->about.first + c * step];
                for (int32_t i = 0; i < ids; i++) factors[at++] = 1.0f;
            }
    }
    while (row < policy->E) encoder[row++] = 1.0f;
}

// ---- packed copies ----------------------------------------------------------------------------

// rows (K, n) with ld -> panels(n, K padded) of their transpose
static void pack_transposed(const float* rows, int K, int n, int lanes, float* panels) {
    int two = 2 * lanes;
    for (int k = 0; k < K; k++) {
        float* panel = panels + (int64_t)(k / two) * n * two + k % two;
        for (int j = 0; j < n; j++) panel[(int64_t)j * two] = rows[(int64_t)k * n + j];
    }
}

int32_t seeing_pack_items(const Policy* policy) {
    return policy->seeing.count ? 1 + policy->seeing.matrices : 0;
}

void seeing_pack(Policy* policy, int32_t item) {
    Seeing* seeing = &policy->seeing;
    int lanes = policy->kernels->lanes;
    if (item == 0) {    // the encoder's rows of features
        pack_transposed(policy->matrices[0].weight + (int64_t)seeing->plain * policy->H,
                        seeing->features, policy->H, lanes, seeing->features_backward);
        return;
    }
    for (int32_t p = 0; p < seeing->count; p++)
        for (int32_t l = 0; l < seeing->parts[p].num_layers; l++) {
            Convolution* layer = &seeing->parts[p].layers[l];
            if (layer->matrix != policy->L + 1 + item) continue;
            const float* weight = policy->matrices[layer->matrix].weight;
            pack_panels(weight, layer->terms, layer->filters, lanes, layer->forward);
            if (l) pack_transposed(weight, layer->terms, layer->filters, lanes, layer->backward);
        }
}

// ---- what is there ----------------------------------------------------------------------------

static float number_at(const Policy* policy, const void* row, int32_t element) {
    if (policy->dtype == PUFFER_U8) return (float)((const uint8_t*)row)[element];
    if (policy->dtype == PUFFER_I32) return (float)((const int32_t*)row)[element];
    return ((const float*)row)[element];
}

static const void* row_at(const Policy* policy, const void* obs, int64_t row) {
    return (const uint8_t*)obs + row * obs_row_size(policy);
}

static void copy_numbers(const Policy* policy, const void* row, int32_t first, int32_t count,
                         float* out) {
    if (policy->dtype == PUFFER_U8)
        policy->kernels->widen(1, count, (const uint8_t*)row + first, out, count);
    else
        for (int32_t i = 0; i < count; i++) out[i] = number_at(policy, row, first + i);
}

// A part of one row -> (height, width, inputs): numbers, and ones among zeros for ids
static void spread(const Policy* policy, const Part* part, const void* row, float* out) {
    const PufferPart* about = &part->about;
    int32_t plane = about->height * about->width;
    if (about->planes) {
        for (int32_t place = 0; place < plane; place++)
            for (int32_t c = 0; c < about->channels; c++)
                *out++ = number_at(policy, row, about->first + c * plane + place);
        return;
    }
    if (!about->has_ids) {
        copy_numbers(policy, row, about->first, part->count, out);
        return;
    }
    memset(out, 0, sizeof(float) * (size_t)cells_of(part));
    for (int32_t at = about->first; at < about->first + part->count;)
        for (int32_t c = 0; c < about->channels; c++, at++) {
            float value = number_at(policy, row, at);
            int32_t ids = about->ids[c];
            if (!ids) *out++ = value;
            else if (value >= 0.0f && value < (float)ids && value == (float)(int32_t)value)
                out[(int32_t)value] = 1.0f;
            out += ids;
        }
}

// ---- convolutions -----------------------------------------------------------------------------

// Places of a layer's output, one after another
typedef struct Place {
    int64_t cell;    // float of the cell that its filters begin with
    int32_t x, y;
    int64_t row;
} Place;

static void find_cell(const Convolution* layer, Place* place) {
    int64_t y = place->row * layer->in_height + (int64_t)place->y * layer->stride;
    place->cell = (y * layer->in_width + (int64_t)place->x * layer->stride) * layer->in_padded;
}

static Place place_at(const Convolution* layer, int64_t number) {
    int32_t plane = layer->height * layer->width, inside = (int32_t)(number % plane);
    Place place = {0, inside % layer->width, inside / layer->width, number / plane};
    find_cell(layer, &place);
    return place;
}

static inline void next_place(const Convolution* layer, Place* place) {
    place->cell += (int64_t)layer->stride * layer->in_padded;
    if (++place->x < layer->width) return;
    place->x = 0;
    if (++place->y == layer->height) {
        place->y = 0;
        place->row++;
    }
    find_cell(layer, place);
}

// Few floats: a call would take longer
static inline void copy_floats(int32_t count, const float* from, float* to) {
    int32_t i = 0;
    for (; i + 4 <= count; i += 4) memcpy(to + i, from + i, 4 * sizeof(float));
    for (; i < count; i++) to[i] = from[i];
}

static inline void add_floats(int32_t count, const float* restrict from, float* restrict to) {
    for (int32_t i = 0; i < count; i++) to[i] += from[i];
}

// What places [first, first + count) of the output see, a row each
static void gather(const Convolution* layer, const float* cells, int64_t first, int32_t count,
                   float* columns) {
    int32_t width = layer->kernel * layer->in_channels, line = layer->in_width * layer->in_padded;
    int dense = layer->in_padded == layer->in_channels;
    Place place = place_at(layer, first);
    for (int32_t i = 0; i < count; i++, columns += layer->ldc, next_place(layer, &place)) {
        const float* from = cells + place.cell;
        float* to = columns;
        for (int32_t ky = 0; ky < layer->kernel; ky++, from += line) {
            if (dense) copy_floats(width, from, to);
            for (int32_t kx = 0; kx < layer->kernel && !dense; kx++)
                copy_floats(layer->in_channels, from + (int64_t)kx * layer->in_padded,
                            to + (int64_t)kx * layer->in_channels);
            to += width;
        }
    }
}

// The other way round: columns are added to the cells that they were copied from
static void scatter(const Convolution* layer, const float* columns, int64_t first, int32_t count,
                    float* cells) {
    int32_t width = layer->kernel * layer->in_channels, line = layer->in_width * layer->in_padded;
    int dense = layer->in_padded == layer->in_channels;
    Place place = place_at(layer, first);
    for (int32_t i = 0; i < count; i++, columns += layer->ldc, next_place(layer, &place)) {
        const float* from = columns;
        float* to = cells + place.cell;
        for (int32_t ky = 0; ky < layer->kernel; ky++, to += line) {
            if (dense) add_floats(width, from, to);
            for (int32_t kx = 0; kx < layer->kernel && !dense; kx++)
                add_floats(layer->in_channels, from + (int64_t)kx * layer->in_channels,
                           to + (int64_t)kx * layer->in_padded);
            from += width;
        }
    }
}

static void convolve(const Policy* policy, Workspace* work, const Convolution* layer,
                     const float* cells, int32_t rows, float* out) {
    int64_t places = (int64_t)rows * layer->height * layer->width;
    for (int64_t at = 0; at < places; at += layer->at_a_time) {
        int32_t count = (int32_t)(places - at < layer->at_a_time ? places - at : layer->at_a_time);
        float* here = out + at * layer->padded;
        gather(layer, cells, at, count, work->seen_columns);
        policy->kernels->product_panels(count, layer->padded, layer->terms, work->seen_columns,
                                        layer->ldc, layer->forward, layer->terms, here,
                                        layer->padded, 0);
        for (int64_t i = 0; i < (int64_t)count * layer->padded; i++)
            here[i] = here[i] < 0.0f ? 0.0f : here[i];    // a NaN stays one
    }
}

// d (places, padded) of this layer's output -> its weights' gradient, and dcells unless NULL
static void convolve_backward(const Policy* policy, Workspace* work, const Convolution* layer,
                              const float* cells, const float* d, int32_t rows, float* dweight,
                              float* dcells) {
    const Kernels* kernels = policy->kernels;
    int64_t places = (int64_t)rows * layer->height * layer->width;
    if (dcells)
        memset(
            dcells, 0,
            sizeof(float)
                * (size_t)((int64_t)rows * layer->in_height * layer->in_width * layer->in_padded));
    for (int64_t at = 0; at < places; at += layer->at_a_time) {
        int32_t count = (int32_t)(places - at < layer->at_a_time ? places - at : layer->at_a_time);
        const float* here = d + at * layer->padded;
        gather(layer, cells, at, count, work->seen_columns);
        kernels->product_tn(layer->terms, layer->padded, count, work->seen_columns, layer->ldc,
                            here, layer->padded, dweight, layer->padded, 1);
        if (!dcells) continue;
        kernels->product_panels(count, layer->terms_padded, layer->filters, here, layer->padded,
                                layer->backward, layer->filters, work->seen_columns, layer->ldc, 0);
        scatter(layer, work->seen_columns, at, count, dcells);
    }
}

// ---- features ---------------------------------------------------------------------------------

static int is_there(const Policy* policy, const Part* part, const void* row, int32_t thing) {
    const PufferPart* about = &part->about;
    return about->mask < 0
           || number_at(policy, row, about->first + thing * about->channels + about->mask) != 0.0f;
}

// Which thing gives each feature; -1: none is there, or all give 0
static void find_largest(const Policy* policy, const Part* part, const void* row, const float* out,
                         int32_t feature, int32_t* largest, float* value) {
    const Convolution* last = &part->layers[part->num_layers - 1];
    *largest = -1;
    *value = 0.0f;
    for (int32_t i = 0; i < last->height * last->width; i++) {
        float found = out[(int64_t)i * last->padded + feature];
        int taken = found <= *value || *value != *value;    // a NaN is taken, and stays
        if (taken || !is_there(policy, part, row, i)) continue;
        *value = found;
        *largest = i;
    }
}

static void take_features(const Policy* policy, const Part* part, const void* row, const float* out,
                          float* features) {
    const Convolution* last = &part->layers[part->num_layers - 1];
    int32_t places = last->height * last->width, largest;
    for (int32_t f = 0; f < last->filters && part->about.pooled; f++)
        find_largest(policy, part, row, out, f, &largest, &features[f]);
    for (int32_t i = 0; i < places && !part->about.pooled; i++)
        memcpy(features + (int64_t)i * last->filters, out + (int64_t)i * last->padded,
               sizeof(float) * (size_t)last->filters);
}

// Gradients of features -> of the last convolution's outputs, before max(0, x)
static void give_features(const Policy* policy, const Part* part, const void* row, const float* out,
                          const float* dfeatures, float* d) {
    const Convolution* last = &part->layers[part->num_layers - 1];
    int32_t places = last->height * last->width, largest;
    float value;
    memset(d, 0, sizeof(float) * (size_t)outputs_of(last));
    for (int32_t f = 0; f < last->filters && part->about.pooled; f++) {
        find_largest(policy, part, row, out, f, &largest, &value);
        if (largest >= 0) d[(int64_t)largest * last->padded + f] = dfeatures[f];
    }
    for (int32_t i = 0; i < places && !part->about.pooled; i++)
        for (int32_t f = 0; f < last->filters; f++) {
            int64_t at = (int64_t)i * last->padded + f;
            d[at] = out[at] > 0.0f ? dfeatures[(int64_t)i * last->filters + f] : 0.0f;
        }
}

// ---- forward and backward ---------------------------------------------------------------------

static void see_part(const Policy* policy, Workspace* work, int32_t p, int32_t rows,
                     const void* obs, int32_t first_row) {
    const Part* part = &policy->seeing.parts[p];
    int32_t column = policy->seeing.plain + part->first_feature;
    for (int32_t at = 0; at < rows; at += part->at_a_time) {
        int32_t count = rows - at < part->at_a_time ? rows - at : part->at_a_time;
        int64_t to = first_row + at;
        for (int32_t r = 0; r < count; r++) {
            const void* row = row_at(policy, obs, at + r);
            spread(policy, part, row,
                   part->num_layers ? work->seen_cells + r * cells_of(part)
                                    : work->seen + (to + r) * policy->lde + column);
        }
        const float* cells = work->seen_cells;
        for (int32_t l = 0; l < part->num_layers; l++) {
            float* out = work->seen_outputs[p][l] + to * outputs_of(&part->layers[l]);
            convolve(policy, work, &part->layers[l], cells, count, out);
            cells = out;
        }
        for (int32_t r = 0; r < count && part->num_layers; r++)
            take_features(policy, part, row_at(policy, obs, at + r),
                          cells + r * outputs_of(&part->layers[part->num_layers - 1]),
                          work->seen + (to + r) * policy->lde + column);
    }
}

void seeing_forward(const Policy* policy, Workspace* work, int32_t rows, const void* obs,
                    int32_t first_row) {
    const Seeing* seeing = &policy->seeing;
    for (int32_t r = 0; r < rows; r++) {
        float* out = work->seen + (int64_t)(first_row + r) * policy->lde;
        int32_t from = 0;
        for (int32_t p = 0; p <= seeing->count; p++) {
            const Part* part = p < seeing->count ? &seeing->parts[p] : NULL;
            int32_t count = (part ? part->about.first : policy->D) - from;
            if (count) copy_numbers(policy, row_at(policy, obs, r), from, count, out);
            out += count;
            if (part) from = part->about.first + part->count;
        }
    }
    for (int32_t p = 0; p < seeing->count; p++) see_part(policy, work, p, rows, obs, first_row);
}

void seeing_begin_backward(const Policy* policy, Workspace* work, int32_t rows, float* dencoder) {
    const Seeing* seeing = &policy->seeing;
    policy->kernels->product_tn(policy->E, policy->H_padded, rows, work->seen, policy->lde,
                                work->dx, policy->ldx, dencoder, policy->H_padded, 1);
    policy->kernels->product_panels(rows, seeing->features_padded, policy->H, work->dx, policy->ldx,
                                    seeing->features_backward, policy->H, work->dseen,
                                    seeing->features_padded, 0);
}

static void see_part_backward(const Policy* policy, Workspace* work, int32_t p, int32_t rows,
                              const void* obs, int32_t first_row, float* gradient) {
    const Part* part = &policy->seeing.parts[p];
    int32_t last = part->num_layers - 1;
    for (int32_t at = 0; at < rows && last >= 0; at += part->at_a_time) {
        int32_t count = rows - at < part->at_a_time ? rows - at : part->at_a_time;
        int64_t from = first_row + at;
        float *d = work->dcells[0], *other = work->dcells[1];
        for (int32_t r = 0; r < count; r++) {
            const void* row = row_at(policy, obs, at + r);
            spread(policy, part, row, work->seen_cells + r * cells_of(part));
            give_features(
                policy, part, row,
                work->seen_outputs[p][last] + (from + r) * outputs_of(&part->layers[last]),
                work->dseen + (from + r) * policy->seeing.features_padded + part->first_feature,
                d + r * outputs_of(&part->layers[last]));
        }
        for (int32_t l = last; l >= 0; l--) {
            const Convolution* layer = &part->layers[l];
            int64_t size = l ? outputs_of(&part->layers[l - 1]) : 0;
            const float* cells = l ? work->seen_outputs[p][l - 1] + from * size : work->seen_cells;
            convolve_backward(policy, work, layer, cells, d, count,
                              gradient + policy->matrices[layer->matrix].chunk_offset,
                              l ? other : NULL);
            for (int64_t i = 0; i < count * size; i++)
                if (!(cells[i] > 0.0f)) other[i] = 0.0f;
            float* swap = d;
            d = other;
            other = swap;
        }
    }
}

void seeing_backward(const Policy* policy, Workspace* work, int32_t rows, const void* obs,
                     int32_t first_row, float* gradient) {
    for (int32_t p = 0; p < policy->seeing.count; p++)
        see_part_backward(policy, work, p, rows, obs, first_row, gradient);
}
