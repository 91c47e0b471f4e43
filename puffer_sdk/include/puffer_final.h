/* puffer_final.h -- gives the definition of c_reset another name, so that c_reset is ours.
 *
 * A c_step that ends an episode calls c_reset, and the observations of the ending are overwritten.
 * `build` looks for the author's function that writes all observations (PUFFER_OBSERVE), and for
 * the line on which c_reset is defined: there, and only there, this macro declares c_reset and goes
 * on to define puffer_author_reset. vecenv.h defines c_reset: it keeps the final observations, then
 * calls the author's. build defines PUFFER_RESET_AT_<line> as `0, PUFFER_RESET_DEFINE`.
 */
#pragma once
#ifdef PUFFER_OBSERVE

#define c_reset(...)                      PUFFER_RESET_LINE(__LINE__, __VA_ARGS__)
#define PUFFER_RESET_LINE(line, ...)      PUFFER_RESET_ON(line, __VA_ARGS__)
#define PUFFER_RESET_ON(line, ...)        PUFFER_RESET_PICK(PUFFER_RESET_AT_##line, __VA_ARGS__)
#define PUFFER_RESET_PICK(found, ...)     PUFFER_RESET_SECOND(found, PUFFER_RESET_CALL, 0)(__VA_ARGS__)
#define PUFFER_RESET_SECOND(...)          PUFFER_RESET_SECOND_OF(__VA_ARGS__)
#define PUFFER_RESET_SECOND_OF(a, b, ...) b
#define PUFFER_RESET_CALL(...)            c_reset(__VA_ARGS__)
#define PUFFER_RESET_DEFINE(...)                                                                   \
    c_reset(__VA_ARGS__);                                                                          \
    void puffer_author_reset(__VA_ARGS__)

#endif
