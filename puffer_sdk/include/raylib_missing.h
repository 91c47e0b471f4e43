// raylib_missing.h -- a texture whose file is missing is said once, and a pattern is drawn for it;
// so is a shader that is not there.
//
// A copy of this text ends every raylib.h that environments are compiled with. raylib itself draws
// nothing for such a texture, and its own warning is lost where no terminal shows it. Commands of
// puffer-sdk and web pages look for the line that is printed here. PUFFER_NO_COMPAT switches it off.

#ifndef PUFFER_NO_COMPAT

#include <stdio.h>
#include <string.h>

static inline Texture2D puffer_load_texture(const char* path) {
    static char told[256];
    Texture2D texture = LoadTexture(path);
    if (texture.id != 0 || !IsWindowReady()) return texture;
    if (strncmp(told, path, sizeof told - 1)) {
        fprintf(stderr, "missing texture: %s, looked for in %s\n", path, GetWorkingDirectory());
        strncpy(told, path, sizeof told - 1);
    }
    Color pink = {255, 0, 255, 255}, black = {0, 0, 0, 255};
    Image checks = GenImageChecked(64, 64, 16, 16, pink, black);
    texture = LoadTextureFromImage(checks);
    UnloadImage(checks);
    return texture;
}
#define LoadTexture puffer_load_texture

// Recordings are drawn without a GPU: what loads a shader there has none
static inline void puffer_begin_shader(Shader shader, const char* name, const char* file,
                                       int line) {
    static const char* told[16];
    int i = 0;
    while (i < 16 && told[i] && told[i] != name) i++;
    if (shader.id == 0 && IsWindowReady() && i < 16 && !told[i]) {
        const char* slash = strrchr(file, '/');
        fprintf(stderr, "missing shader: %s, %s:%d\n", name, slash ? slash + 1 : file, line);
        told[i] = name;
    }
    BeginShaderMode(shader);
}
#define BeginShaderMode(...) puffer_begin_shader(__VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)

#endif    // PUFFER_NO_COMPAT
