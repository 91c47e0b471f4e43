// raylib_compat.h -- the names of raylib 5.5 that 6.0 dropped or changed. Code for either compiles.
//
// A copy of this text ends every raylib.h that environments are compiled with, so that code written
// for 5.5 (Ocean's, say) and code written for 6.0 both compile. Nothing of it is in the library:
// each name becomes one of 6.0's. PUFFER_NO_COMPAT switches it off.
//
// Fields of Model and ModelAnimation that have other names or places now (frameCount, framePoses,
// boneCount, bones, bindPose) stand in the structs beside 6.0's, those of Model in C alone. Not
// brought back: bones of a ModelAnimation.

#if !defined(PUFFER_NO_COMPAT) && RAYLIB_VERSION_MAJOR >= 6

// DrawCircleGradient(x, y, radius, inner, outer) of 5.5, (center, radius, inner, outer) of 6.0
#if defined(__cplusplus)
static inline void DrawCircleGradient(int x, int y, float radius, Color inner, Color outer) {
    Vector2 center = {(float)x, (float)y};
    DrawCircleGradient(center, radius, inner, outer);
}
#elif defined(__clang__)
static inline __attribute__((overloadable)) void puffer_circle_gradient(Vector2 center,
                                                                        float radius, Color inner,
                                                                        Color outer) {
    DrawCircleGradient(center, radius, inner, outer);
}
static inline __attribute__((overloadable)) void puffer_circle_gradient(int x, int y, float radius,
                                                                        Color inner, Color outer) {
    Vector2 center = {(float)x, (float)y};
    DrawCircleGradient(center, radius, inner, outer);
}
#define DrawCircleGradient puffer_circle_gradient
#else
// In an initializer x and y fill the Vector2, or one Vector2 does: C leaves the inner braces out
typedef struct PufferCircleGradient {
    Vector2 center;
    float radius;
    Color inner;
    Color outer;
} PufferCircleGradient;

static inline void puffer_circle_gradient(PufferCircleGradient circle) {
    DrawCircleGradient(circle.center, circle.radius, circle.inner, circle.outer);
}
#define DrawCircleGradient(...) puffer_circle_gradient((PufferCircleGradient){__VA_ARGS__})
#endif

// Models as points, and animations one at a time
#ifdef __cplusplus
extern "C" {
#endif
RLAPI void rlEnablePointMode(void);    // as in rlgl.h
RLAPI void rlDisablePointMode(void);
RLAPI void rlEnableBackfaceCulling(void);
RLAPI void rlDisableBackfaceCulling(void);
#ifdef __cplusplus
}
#endif

static inline void DrawModelPointsEx(Model model, Vector3 position, Vector3 rotationAxis,
                                     float rotationAngle, Vector3 scale, Color tint) {
    rlEnablePointMode();
    rlDisableBackfaceCulling();
    DrawModelEx(model, position, rotationAxis, rotationAngle, scale, tint);
    rlEnableBackfaceCulling();
    rlDisablePointMode();
}

static inline void DrawModelPoints(Model model, Vector3 position, float scale, Color tint) {
    Vector3 up = {0.0f, 1.0f, 0.0f}, sizes = {scale, scale, scale};
    DrawModelPointsEx(model, position, up, 0.0f, sizes, tint);
}

static inline void UpdateModelAnimationBones(Model model, ModelAnimation anim, int frame) {
    UpdateModelAnimation(model, anim, (float)frame);
}

static inline void UnloadModelAnimation(ModelAnimation anim) {
    for (int i = 0; i < anim.keyframeCount; i++) MemFree(anim.keyframePoses[i]);
    MemFree(anim.keyframePoses);
}

#define SHADER_LOC_BONE_MATRICES SHADER_LOC_MATRIX_BONETRANSFORMS

// Text: 5.5 has const char** where 6.0 has char**. A void* is either, in C
#ifndef __cplusplus
static inline void* puffer_text_split(const char* text, char delimiter, int* count) {
    return TextSplit(text, delimiter, count);
}
static inline char* puffer_text_join(const void* list, int count, const char* delimiter) {
    return TextJoin((char**)list, count, delimiter);
}
#define TextSplit puffer_text_split
#define TextJoin  puffer_text_join
#endif

// 6.1 renames again; what is written here stays 6.0's
#if RAYLIB_VERSION_MAJOR > 6 || RAYLIB_VERSION_MINOR >= 1
#define GetSplinePointBezierQuad GetSplinePointBezierQuadratic
#define ImageDrawTriangleEx      ImageDrawTriangleGradient
#define ImageDrawRectangleLines  ImageDrawRectangleLinesEx
#endif

#endif    // PUFFER_NO_COMPAT
