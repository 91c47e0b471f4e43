/* raymath.h -- vectors, matrices, quaternions, under the names that raylib's users know.
 *
 *     Vector2 to_goal = Vector2Subtract(goal, ship);
 *     ship = Vector2MoveTowards(ship, goal, 3.0f);
 *     heading = Wrap(heading + turn, 0.0f, 2.0f*PI);
 *
 * The same interface as raylib's raymath, written anew. Every function is `static inline`,
 * whatever RAYMATH_ macros are set: a simulation that uses them links nothing, runs where no
 * raylib is, and plays the same game there. Works alone, or beside raylib.h in either order,
 * as C11, as C++17 and in device code.
 *
 * Conventions
 *   - everything goes in and comes out by value, except where two results are needed
 *   - angles are in radians
 *   - a Matrix lies in memory row by row (m0 m4 m8 m12 is its first row); m12 m13 m14 hold the
 *     translation, and vectors are columns: v' = M v
 *   - MatrixMultiply(a, b) is "first a, then b"
 *   - a quaternion is a Vector4: x y z the axis part, w the scalar part
 *   - zero-length input gives a zero or unchanged result, never a NaN; division by zero,
 *     inverting a singular matrix and the like give what IEEE arithmetic gives
 *
 * It does not: use SIMD, touch global state, allocate.
 */
#ifndef RAYMATH_H
#define RAYMATH_H

#include <math.h>

#ifndef PI
#define PI 3.14159265358979323846f
#endif
#ifndef DEG2RAD
#define DEG2RAD (PI / 180.0f)
#endif
#ifndef RAD2DEG
#define RAD2DEG (180.0f / PI)
#endif
#ifndef EPSILON
#define EPSILON 0.000001f    // FloatEquals and friends: relative above 1
#endif

#undef RMAPI
#if defined(__CUDACC__)
#define RMAPI static inline __host__ __device__
#elif defined(__GNUC__) || defined(__clang__)
#define RMAPI static inline __attribute__((unused))
#else
#define RMAPI static inline
#endif

// ---- types: raylib.h defines the same ones behind the same guards ----------------------------

#ifndef RL_VECTOR2_TYPE
#define RL_VECTOR2_TYPE
typedef struct Vector2 {
    float x, y;
} Vector2;
#endif
#ifndef RL_VECTOR3_TYPE
#define RL_VECTOR3_TYPE
typedef struct Vector3 {
    float x, y, z;
} Vector3;
#endif
#ifndef RL_VECTOR4_TYPE
#define RL_VECTOR4_TYPE
typedef struct Vector4 {
    float x, y, z, w;
} Vector4;
#endif
#ifndef RL_QUATERNION_TYPE
#define RL_QUATERNION_TYPE
typedef Vector4 Quaternion;
#endif
#ifndef RL_MATRIX_TYPE
#define RL_MATRIX_TYPE
typedef struct Matrix {
    float m0, m4, m8, m12;
    float m1, m5, m9, m13;
    float m2, m6, m10, m14;
    float m3, m7, m11, m15;
} Matrix;
#endif

// What ToFloatV returns
#ifdef __CUDACC__    // CUDA has a float3 of its own
typedef struct rm_float3 {
    float v[3];
} rm_float3;
#else
typedef struct float3 {
    float v[3];
} float3;
typedef float3 rm_float3;
#endif
typedef struct float16 {
    float v[16];
} float16;    // m0, m1, m2 ... m15: OpenGL's order

#ifndef MatrixToFloat
#define MatrixToFloat(mat) (MatrixToFloatV(mat).v)
#endif
#ifndef Vector3ToFloat
#define Vector3ToFloat(vec) (Vector3ToFloatV(vec).v)
#endif

// Builders: C++ has no compound literals
RMAPI Vector2 rm_vec2(float x, float y) {
    Vector2 v = {x, y};
    return v;
}
RMAPI Vector3 rm_vec3(float x, float y, float z) {
    Vector3 v = {x, y, z};
    return v;
}
RMAPI Vector4 rm_vec4(float x, float y, float z, float w) {
    Vector4 v = {x, y, z, w};
    return v;
}

// ---- numbers ---------------------------------------------------------------------------------

// value, moved to the nearer end if it lies outside [min, max]
RMAPI float Clamp(float value, float min, float max) {
    float raised = value < min ? min : value;
    return raised > max ? max : raised;
}

// start at amount 0, end at amount 1, beyond them outside
RMAPI float Lerp(float start, float end, float amount) { return start + amount * (end - start); }

// Where value lies between start (0) and end (1)
RMAPI float Normalize(float value, float start, float end) {
    return (value - start) / (end - start);
}

// The place in the output range that value has in the input range
RMAPI float Remap(float value, float inputStart, float inputEnd, float outputStart,
                  float outputEnd) {
    return (value - inputStart) / (inputEnd - inputStart) * (outputEnd - outputStart) + outputStart;
}

// value brought into [min, max) by whole turns; the way to keep a heading in range
RMAPI float Wrap(float value, float min, float max) {
    float turn = max - min;
    return value - turn * floorf((value - min) / turn);
}

// 1 if x and y differ by no more than EPSILON, times their size where that exceeds 1
RMAPI int FloatEquals(float x, float y) {
    return fabsf(x - y) <= EPSILON * fmaxf(1.0f, fmaxf(fabsf(x), fabsf(y)));
}

// ---- Vector2 ---------------------------------------------------------------------------------

RMAPI Vector2 Vector2Zero(void) { return rm_vec2(0.0f, 0.0f); }
RMAPI Vector2 Vector2One(void) { return rm_vec2(1.0f, 1.0f); }
RMAPI Vector2 Vector2Add(Vector2 v1, Vector2 v2) { return rm_vec2(v1.x + v2.x, v1.y + v2.y); }
RMAPI Vector2 Vector2AddValue(Vector2 v, float add) { return rm_vec2(v.x + add, v.y + add); }
RMAPI Vector2 Vector2Subtract(Vector2 v1, Vector2 v2) { return rm_vec2(v1.x - v2.x, v1.y - v2.y); }
RMAPI Vector2 Vector2SubtractValue(Vector2 v, float sub) { return rm_vec2(v.x - sub, v.y - sub); }
RMAPI Vector2 Vector2Scale(Vector2 v, float scale) { return rm_vec2(v.x * scale, v.y * scale); }
RMAPI Vector2 Vector2Multiply(Vector2 v1, Vector2 v2) { return rm_vec2(v1.x * v2.x, v1.y * v2.y); }
RMAPI Vector2 Vector2Divide(Vector2 v1, Vector2 v2) { return rm_vec2(v1.x / v2.x, v1.y / v2.y); }
RMAPI Vector2 Vector2Negate(Vector2 v) { return rm_vec2(-v.x, -v.y); }
RMAPI Vector2 Vector2Invert(Vector2 v) { return rm_vec2(1.0f / v.x, 1.0f / v.y); }

RMAPI float Vector2DotProduct(Vector2 v1, Vector2 v2) { return v1.x * v2.x + v1.y * v2.y; }

// z of the three-dimensional cross product: twice the signed area of the triangle 0, v1, v2
RMAPI float Vector2CrossProduct(Vector2 v1, Vector2 v2) { return v1.x * v2.y - v1.y * v2.x; }

RMAPI float Vector2LengthSqr(Vector2 v) { return Vector2DotProduct(v, v); }
RMAPI float Vector2Length(Vector2 v) { return sqrtf(Vector2LengthSqr(v)); }
RMAPI float Vector2DistanceSqr(Vector2 v1, Vector2 v2) {
    return Vector2LengthSqr(Vector2Subtract(v1, v2));
}
RMAPI float Vector2Distance(Vector2 v1, Vector2 v2) { return sqrtf(Vector2DistanceSqr(v1, v2)); }

// The turn from v1 to v2 in (-pi, pi]; clockwise is positive where y points down
RMAPI float Vector2Angle(Vector2 v1, Vector2 v2) {
    return atan2f(Vector2CrossProduct(v1, v2), Vector2DotProduct(v1, v2));
}

// The direction of the line from start to end; counterclockwise is positive where y points down
RMAPI float Vector2LineAngle(Vector2 start, Vector2 end) {
    return -atan2f(end.y - start.y, end.x - start.x);
}

RMAPI Vector2 Vector2Normalize(Vector2 v) {
    float length = Vector2Length(v);
    return length > 0.0f ? Vector2Scale(v, 1.0f / length) : Vector2Zero();
}

// mat applied to the point (v.x, v.y, 0)
RMAPI Vector2 Vector2Transform(Vector2 v, Matrix mat) {
    return rm_vec2(mat.m0 * v.x + mat.m4 * v.y + mat.m12, mat.m1 * v.x + mat.m5 * v.y + mat.m13);
}

RMAPI Vector2 Vector2Lerp(Vector2 v1, Vector2 v2, float amount) {
    return rm_vec2(Lerp(v1.x, v2.x, amount), Lerp(v1.y, v2.y, amount));
}

// v bounced off a surface; normal has length 1
RMAPI Vector2 Vector2Reflect(Vector2 v, Vector2 normal) {
    return Vector2Subtract(v, Vector2Scale(normal, 2.0f * Vector2DotProduct(v, normal)));
}

RMAPI Vector2 Vector2Min(Vector2 v1, Vector2 v2) {
    return rm_vec2(fminf(v1.x, v2.x), fminf(v1.y, v2.y));
}

RMAPI Vector2 Vector2Max(Vector2 v1, Vector2 v2) {
    return rm_vec2(fmaxf(v1.x, v2.x), fmaxf(v1.y, v2.y));
}

RMAPI Vector2 Vector2Rotate(Vector2 v, float angle) {
    float c = cosf(angle), s = sinf(angle);
    return rm_vec2(v.x * c - v.y * s, v.x * s + v.y * c);
}

// A step of maxDistance from v to target, which it does not overshoot; a negative one leads away
RMAPI Vector2 Vector2MoveTowards(Vector2 v, Vector2 target, float maxDistance) {
    Vector2 way = Vector2Subtract(target, v);
    float sqr = Vector2LengthSqr(way);
    if (sqr == 0.0f || (maxDistance >= 0.0f && sqr <= maxDistance * maxDistance)) return target;
    float length = sqrtf(sqr);
    return rm_vec2(v.x + way.x / length * maxDistance, v.y + way.y / length * maxDistance);
}

RMAPI Vector2 Vector2Clamp(Vector2 v, Vector2 min, Vector2 max) {
    return Vector2Min(max, Vector2Max(min, v));
}

// What a vector of this squared length is scaled by, so that its length lies in [min, max]
RMAPI float rm_clamp_scale(float sqr, float min, float max) {
    if (sqr <= 0.0f) return 1.0f;
    float length = sqrtf(sqr);
    return length < min ? min / length : length > max ? max / length : 1.0f;
}

// v with its length clamped; the zero vector stays
RMAPI Vector2 Vector2ClampValue(Vector2 v, float min, float max) {
    return Vector2Scale(v, rm_clamp_scale(Vector2LengthSqr(v), min, max));
}

RMAPI int Vector2Equals(Vector2 p, Vector2 q) {
    return FloatEquals(p.x, q.x) && FloatEquals(p.y, q.y);
}

// Snell's law: v and n have length 1, r is the index left behind over the index entered.
// Zero when the ray is reflected whole
RMAPI Vector2 Vector2Refract(Vector2 v, Vector2 n, float r) {
    float dot = Vector2DotProduct(v, n);
    float d = 1.0f - r * r * (1.0f - dot * dot);
    if (d < 0.0f) return Vector2Zero();
    return Vector2Subtract(Vector2Scale(v, r), Vector2Scale(n, r * dot + sqrtf(d)));
}

// ---- Vector3 ---------------------------------------------------------------------------------

RMAPI Vector3 Vector3Zero(void) { return rm_vec3(0.0f, 0.0f, 0.0f); }
RMAPI Vector3 Vector3One(void) { return rm_vec3(1.0f, 1.0f, 1.0f); }
RMAPI Vector3 Vector3Add(Vector3 v1, Vector3 v2) {
    return rm_vec3(v1.x + v2.x, v1.y + v2.y, v1.z + v2.z);
}
RMAPI Vector3 Vector3AddValue(Vector3 v, float add) {
    return rm_vec3(v.x + add, v.y + add, v.z + add);
}
RMAPI Vector3 Vector3Subtract(Vector3 v1, Vector3 v2) {
    return rm_vec3(v1.x - v2.x, v1.y - v2.y, v1.z - v2.z);
}
RMAPI Vector3 Vector3SubtractValue(Vector3 v, float sub) {
    return rm_vec3(v.x - sub, v.y - sub, v.z - sub);
}
RMAPI Vector3 Vector3Scale(Vector3 v, float scalar) {
    return rm_vec3(v.x * scalar, v.y * scalar, v.z * scalar);
}
RMAPI Vector3 Vector3Multiply(Vector3 v1, Vector3 v2) {
    return rm_vec3(v1.x * v2.x, v1.y * v2.y, v1.z * v2.z);
}
RMAPI Vector3 Vector3Divide(Vector3 v1, Vector3 v2) {
    return rm_vec3(v1.x / v2.x, v1.y / v2.y, v1.z / v2.z);
}
RMAPI Vector3 Vector3Negate(Vector3 v) { return rm_vec3(-v.x, -v.y, -v.z); }
RMAPI Vector3 Vector3Invert(Vector3 v) { return rm_vec3(1.0f / v.x, 1.0f / v.y, 1.0f / v.z); }

RMAPI float Vector3DotProduct(Vector3 v1, Vector3 v2) {
    return v1.x * v2.x + v1.y * v2.y + v1.z * v2.z;
}

RMAPI Vector3 Vector3CrossProduct(Vector3 v1, Vector3 v2) {
    return rm_vec3(v1.y * v2.z - v1.z * v2.y, v1.z * v2.x - v1.x * v2.z, v1.x * v2.y - v1.y * v2.x);
}

RMAPI float Vector3LengthSqr(const Vector3 v) { return Vector3DotProduct(v, v); }
RMAPI float Vector3Length(const Vector3 v) { return sqrtf(Vector3LengthSqr(v)); }
RMAPI float Vector3DistanceSqr(Vector3 v1, Vector3 v2) {
    return Vector3LengthSqr(Vector3Subtract(v1, v2));
}
RMAPI float Vector3Distance(Vector3 v1, Vector3 v2) { return sqrtf(Vector3DistanceSqr(v1, v2)); }

// A vector at right angles to v: v crossed with the axis that v has least of
RMAPI Vector3 Vector3Perpendicular(Vector3 v) {
    float x = fabsf(v.x), y = fabsf(v.y), z = fabsf(v.z);
    Vector3 axis = rm_vec3(1.0f, 0.0f, 0.0f);
    if (y < x) axis = rm_vec3(0.0f, 1.0f, 0.0f);
    if (z < fminf(x, y)) axis = rm_vec3(0.0f, 0.0f, 1.0f);
    return Vector3CrossProduct(v, axis);
}

// The angle between v1 and v2 in [0, pi]
RMAPI float Vector3Angle(Vector3 v1, Vector3 v2) {
    return atan2f(Vector3Length(Vector3CrossProduct(v1, v2)), Vector3DotProduct(v1, v2));
}

RMAPI Vector3 Vector3Normalize(Vector3 v) {
    float length = Vector3Length(v);
    return length != 0.0f ? Vector3Scale(v, 1.0f / length) : v;
}

// The part of v1 that lies along v2
RMAPI Vector3 Vector3Project(Vector3 v1, Vector3 v2) {
    return Vector3Scale(v2, Vector3DotProduct(v1, v2) / Vector3DotProduct(v2, v2));
}

// The part of v1 at right angles to v2
RMAPI Vector3 Vector3Reject(Vector3 v1, Vector3 v2) {
    return Vector3Subtract(v1, Vector3Project(v1, v2));
}

// Gram and Schmidt: v1 gets length 1, v2 the nearest direction at right angles to it
RMAPI void Vector3OrthoNormalize(Vector3* v1, Vector3* v2) {
    *v1 = Vector3Normalize(*v1);
    Vector3 normal = Vector3Normalize(Vector3CrossProduct(*v1, *v2));
    *v2 = Vector3CrossProduct(normal, *v1);
}

// mat applied to the point v
RMAPI Vector3 Vector3Transform(Vector3 v, Matrix mat) {
    return rm_vec3(mat.m0 * v.x + mat.m4 * v.y + mat.m8 * v.z + mat.m12,
                   mat.m1 * v.x + mat.m5 * v.y + mat.m9 * v.z + mat.m13,
                   mat.m2 * v.x + mat.m6 * v.y + mat.m10 * v.z + mat.m14);
}

// v turned by q. For a q that is not of length 1 the result scales with |q|^2
RMAPI Vector3 Vector3RotateByQuaternion(Vector3 v, Quaternion q) {
    float xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, ww = q.w * q.w;
    float xy = 2.0f * q.x * q.y, xz = 2.0f * q.x * q.z, yz = 2.0f * q.y * q.z;
    float wx = 2.0f * q.w * q.x, wy = 2.0f * q.w * q.y, wz = 2.0f * q.w * q.z;
    return rm_vec3(v.x * (ww + xx - yy - zz) + v.y * (xy - wz) + v.z * (xz + wy),
                   v.x * (xy + wz) + v.y * (ww - xx + yy - zz) + v.z * (yz - wx),
                   v.x * (xz - wy) + v.y * (yz + wx) + v.z * (ww - xx - yy + zz));
}

// v turned about an axis of any length but 0 (Euler, Rodrigues)
RMAPI Vector3 Vector3RotateByAxisAngle(Vector3 v, Vector3 axis, float angle) {
    Vector3 w = Vector3Scale(Vector3Normalize(axis), sinf(0.5f * angle));
    Vector3 wv = Vector3CrossProduct(w, v);
    Vector3 wwv = Vector3CrossProduct(w, wv);
    float c = 2.0f * cosf(0.5f * angle);
    return rm_vec3(v.x + c * wv.x + 2.0f * wwv.x, v.y + c * wv.y + 2.0f * wwv.y,
                   v.z + c * wv.z + 2.0f * wwv.z);
}

// As Vector2MoveTowards
RMAPI Vector3 Vector3MoveTowards(Vector3 v, Vector3 target, float maxDistance) {
    Vector3 way = Vector3Subtract(target, v);
    float sqr = Vector3LengthSqr(way);
    if (sqr == 0.0f || (maxDistance >= 0.0f && sqr <= maxDistance * maxDistance)) return target;
    float length = sqrtf(sqr);
    return rm_vec3(v.x + way.x / length * maxDistance, v.y + way.y / length * maxDistance,
                   v.z + way.z / length * maxDistance);
}

RMAPI Vector3 Vector3Lerp(Vector3 v1, Vector3 v2, float amount) {
    return rm_vec3(Lerp(v1.x, v2.x, amount), Lerp(v1.y, v2.y, amount), Lerp(v1.z, v2.z, amount));
}

// Weights of a cubic Hermite curve at t: start, its tangent, end, its tangent
RMAPI Vector4 rm_hermite(float t) {
    float t2 = t * t, t3 = t2 * t;
    return rm_vec4(2.0f * t3 - 3.0f * t2 + 1.0f, t3 - 2.0f * t2 + t, 3.0f * t2 - 2.0f * t3,
                   t3 - t2);
}

// The curve that leaves v1 along tangent1 and reaches v2 along tangent2
RMAPI Vector3 Vector3CubicHermite(Vector3 v1, Vector3 tangent1, Vector3 v2, Vector3 tangent2,
                                  float amount) {
    Vector4 h = rm_hermite(amount);
    return rm_vec3(h.x * v1.x + h.y * tangent1.x + h.z * v2.x + h.w * tangent2.x,
                   h.x * v1.y + h.y * tangent1.y + h.z * v2.y + h.w * tangent2.y,
                   h.x * v1.z + h.y * tangent1.z + h.z * v2.z + h.w * tangent2.z);
}

// v bounced off a surface; normal has length 1
RMAPI Vector3 Vector3Reflect(Vector3 v, Vector3 normal) {
    return Vector3Subtract(v, Vector3Scale(normal, 2.0f * Vector3DotProduct(v, normal)));
}

RMAPI Vector3 Vector3Min(Vector3 v1, Vector3 v2) {
    return rm_vec3(fminf(v1.x, v2.x), fminf(v1.y, v2.y), fminf(v1.z, v2.z));
}

RMAPI Vector3 Vector3Max(Vector3 v1, Vector3 v2) {
    return rm_vec3(fmaxf(v1.x, v2.x), fmaxf(v1.y, v2.y), fmaxf(v1.z, v2.z));
}

// Weights of a, b, c whose sum is p, for a p in the plane of the triangle
RMAPI Vector3 Vector3Barycenter(Vector3 p, Vector3 a, Vector3 b, Vector3 c) {
    Vector3 ab = Vector3Subtract(b, a), ac = Vector3Subtract(c, a), ap = Vector3Subtract(p, a);
    float bb = Vector3DotProduct(ab, ab), bc = Vector3DotProduct(ab, ac);
    float cc = Vector3DotProduct(ac, ac);
    float pb = Vector3DotProduct(ap, ab), pc = Vector3DotProduct(ap, ac);
    float area = bb * cc - bc * bc;
    float v = (cc * pb - bc * pc) / area, w = (bb * pc - bc * pb) / area;
    return rm_vec3(1.0f - (v + w), v, w);
}

RMAPI rm_float3 Vector3ToFloatV(Vector3 v) {
    rm_float3 f = {{v.x, v.y, v.z}};
    return f;
}

RMAPI Vector3 Vector3Clamp(Vector3 v, Vector3 min, Vector3 max) {
    return Vector3Min(max, Vector3Max(min, v));
}

// v with its length clamped; the zero vector stays
RMAPI Vector3 Vector3ClampValue(Vector3 v, float min, float max) {
    return Vector3Scale(v, rm_clamp_scale(Vector3LengthSqr(v), min, max));
}

RMAPI int Vector3Equals(Vector3 p, Vector3 q) {
    return FloatEquals(p.x, q.x) && FloatEquals(p.y, q.y) && FloatEquals(p.z, q.z);
}

// As Vector2Refract
RMAPI Vector3 Vector3Refract(Vector3 v, Vector3 n, float r) {
    float dot = Vector3DotProduct(v, n);
    float d = 1.0f - r * r * (1.0f - dot * dot);
    if (d < 0.0f) return Vector3Zero();
    return Vector3Subtract(Vector3Scale(v, r), Vector3Scale(n, r * dot + sqrtf(d)));
}

// ---- Vector4 ---------------------------------------------------------------------------------

RMAPI Vector4 Vector4Zero(void) { return rm_vec4(0.0f, 0.0f, 0.0f, 0.0f); }
RMAPI Vector4 Vector4One(void) { return rm_vec4(1.0f, 1.0f, 1.0f, 1.0f); }
RMAPI Vector4 Vector4Add(Vector4 v1, Vector4 v2) {
    return rm_vec4(v1.x + v2.x, v1.y + v2.y, v1.z + v2.z, v1.w + v2.w);
}
RMAPI Vector4 Vector4AddValue(Vector4 v, float add) {
    return rm_vec4(v.x + add, v.y + add, v.z + add, v.w + add);
}
RMAPI Vector4 Vector4Subtract(Vector4 v1, Vector4 v2) {
    return rm_vec4(v1.x - v2.x, v1.y - v2.y, v1.z - v2.z, v1.w - v2.w);
}
RMAPI Vector4 Vector4SubtractValue(Vector4 v, float add) {
    return rm_vec4(v.x - add, v.y - add, v.z - add, v.w - add);
}
RMAPI Vector4 Vector4Scale(Vector4 v, float scale) {
    return rm_vec4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}
RMAPI Vector4 Vector4Multiply(Vector4 v1, Vector4 v2) {
    return rm_vec4(v1.x * v2.x, v1.y * v2.y, v1.z * v2.z, v1.w * v2.w);
}
RMAPI Vector4 Vector4Divide(Vector4 v1, Vector4 v2) {
    return rm_vec4(v1.x / v2.x, v1.y / v2.y, v1.z / v2.z, v1.w / v2.w);
}
RMAPI Vector4 Vector4Negate(Vector4 v) { return rm_vec4(-v.x, -v.y, -v.z, -v.w); }
RMAPI Vector4 Vector4Invert(Vector4 v) {
    return rm_vec4(1.0f / v.x, 1.0f / v.y, 1.0f / v.z, 1.0f / v.w);
}

RMAPI float Vector4DotProduct(Vector4 v1, Vector4 v2) {
    return v1.x * v2.x + v1.y * v2.y + v1.z * v2.z + v1.w * v2.w;
}

RMAPI float Vector4LengthSqr(Vector4 v) { return Vector4DotProduct(v, v); }
RMAPI float Vector4Length(Vector4 v) { return sqrtf(Vector4LengthSqr(v)); }
RMAPI float Vector4DistanceSqr(Vector4 v1, Vector4 v2) {
    return Vector4LengthSqr(Vector4Subtract(v1, v2));
}
RMAPI float Vector4Distance(Vector4 v1, Vector4 v2) { return sqrtf(Vector4DistanceSqr(v1, v2)); }

RMAPI Vector4 Vector4Normalize(Vector4 v) {
    float length = Vector4Length(v);
    return length > 0.0f ? Vector4Scale(v, 1.0f / length) : Vector4Zero();
}

RMAPI Vector4 Vector4Min(Vector4 v1, Vector4 v2) {
    return rm_vec4(fminf(v1.x, v2.x), fminf(v1.y, v2.y), fminf(v1.z, v2.z), fminf(v1.w, v2.w));
}

RMAPI Vector4 Vector4Max(Vector4 v1, Vector4 v2) {
    return rm_vec4(fmaxf(v1.x, v2.x), fmaxf(v1.y, v2.y), fmaxf(v1.z, v2.z), fmaxf(v1.w, v2.w));
}

RMAPI Vector4 Vector4Lerp(Vector4 v1, Vector4 v2, float amount) {
    return rm_vec4(Lerp(v1.x, v2.x, amount), Lerp(v1.y, v2.y, amount), Lerp(v1.z, v2.z, amount),
                   Lerp(v1.w, v2.w, amount));
}

// As Vector2MoveTowards
RMAPI Vector4 Vector4MoveTowards(Vector4 v, Vector4 target, float maxDistance) {
    Vector4 way = Vector4Subtract(target, v);
    float sqr = Vector4LengthSqr(way);
    if (sqr == 0.0f || (maxDistance >= 0.0f && sqr <= maxDistance * maxDistance)) return target;
    float length = sqrtf(sqr);
    return rm_vec4(v.x + way.x / length * maxDistance, v.y + way.y / length * maxDistance,
                   v.z + way.z / length * maxDistance, v.w + way.w / length * maxDistance);
}

RMAPI int Vector4Equals(Vector4 p, Vector4 q) {
    return FloatEquals(p.x, q.x) && FloatEquals(p.y, q.y) && FloatEquals(p.z, q.z)
           && FloatEquals(p.w, q.w);
}

// ---- Matrix ----------------------------------------------------------------------------------

// clang-format off
#define RM_EACH_ENTRY(X) X(m0) X(m1) X(m2) X(m3) X(m4) X(m5) X(m6) X(m7) \
                         X(m8) X(m9) X(m10) X(m11) X(m12) X(m13) X(m14) X(m15)
// clang-format on

RMAPI Matrix MatrixIdentity(void) {
    Matrix result = {1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f,
                     0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f};
    return result;
}

// The determinants of the 2 x 2 blocks of columns 0, 1 (low) and 2, 3 (high), from which the
// determinant and the inverse are put together (Laplace expansion over two columns)
typedef struct rm_Blocks {
    float low[6], high[6];
} rm_Blocks;

RMAPI rm_Blocks rm_blocks(Matrix m) {
    rm_Blocks b = {{m.m0 * m.m5 - m.m4 * m.m1, m.m0 * m.m6 - m.m4 * m.m2, m.m0 * m.m7 - m.m4 * m.m3,
                    m.m1 * m.m6 - m.m5 * m.m2, m.m1 * m.m7 - m.m5 * m.m3,
                    m.m2 * m.m7 - m.m6 * m.m3},
                   {m.m8 * m.m13 - m.m12 * m.m9, m.m8 * m.m14 - m.m12 * m.m10,
                    m.m8 * m.m15 - m.m12 * m.m11, m.m9 * m.m14 - m.m13 * m.m10,
                    m.m9 * m.m15 - m.m13 * m.m11, m.m10 * m.m15 - m.m14 * m.m11}};
    return b;
}

RMAPI float rm_determinant(rm_Blocks b) {
    return b.low[0] * b.high[5] - b.low[1] * b.high[4] + b.low[2] * b.high[3] + b.low[3] * b.high[2]
           - b.low[4] * b.high[1] + b.low[5] * b.high[0];
}

RMAPI float MatrixDeterminant(Matrix mat) { return rm_determinant(rm_blocks(mat)); }

// Sum of the diagonal
RMAPI float MatrixTrace(Matrix mat) { return mat.m0 + mat.m5 + mat.m10 + mat.m15; }

RMAPI Matrix MatrixTranspose(Matrix mat) {
    Matrix result = {mat.m0, mat.m1, mat.m2,  mat.m3,  mat.m4,  mat.m5,  mat.m6,  mat.m7,
                     mat.m8, mat.m9, mat.m10, mat.m11, mat.m12, mat.m13, mat.m14, mat.m15};
    return result;
}

RMAPI Matrix MatrixMultiplyValue(Matrix left, float value) {
    Matrix result;
#define X(entry) result.entry = left.entry * value;
    RM_EACH_ENTRY(X)
#undef X
    return result;
}

// Not finite if mat is singular
RMAPI Matrix MatrixInvert(Matrix mat) {
    const Matrix m = mat;
    rm_Blocks b = rm_blocks(m);
    const float *l = b.low, *h = b.high;
    Matrix adjugate;
    adjugate.m0 = m.m5 * h[5] - m.m6 * h[4] + m.m7 * h[3];
    adjugate.m1 = m.m2 * h[4] - m.m1 * h[5] - m.m3 * h[3];
    adjugate.m2 = m.m13 * l[5] - m.m14 * l[4] + m.m15 * l[3];
    adjugate.m3 = m.m10 * l[4] - m.m9 * l[5] - m.m11 * l[3];
    adjugate.m4 = m.m6 * h[2] - m.m4 * h[5] - m.m7 * h[1];
    adjugate.m5 = m.m0 * h[5] - m.m2 * h[2] + m.m3 * h[1];
    adjugate.m6 = m.m14 * l[2] - m.m12 * l[5] - m.m15 * l[1];
    adjugate.m7 = m.m8 * l[5] - m.m10 * l[2] + m.m11 * l[1];
    adjugate.m8 = m.m4 * h[4] - m.m5 * h[2] + m.m7 * h[0];
    adjugate.m9 = m.m1 * h[2] - m.m0 * h[4] - m.m3 * h[0];
    adjugate.m10 = m.m12 * l[4] - m.m13 * l[2] + m.m15 * l[0];
    adjugate.m11 = m.m9 * l[2] - m.m8 * l[4] - m.m11 * l[0];
    adjugate.m12 = m.m5 * h[1] - m.m4 * h[3] - m.m6 * h[0];
    adjugate.m13 = m.m0 * h[3] - m.m1 * h[1] + m.m2 * h[0];
    adjugate.m14 = m.m13 * l[1] - m.m12 * l[3] - m.m14 * l[0];
    adjugate.m15 = m.m8 * l[3] - m.m9 * l[1] + m.m10 * l[0];
    return MatrixMultiplyValue(adjugate, 1.0f / rm_determinant(b));
}

RMAPI Matrix MatrixAdd(Matrix left, Matrix right) {
    Matrix result;
#define X(entry) result.entry = left.entry + right.entry;
    RM_EACH_ENTRY(X)
#undef X
    return result;
}

RMAPI Matrix MatrixSubtract(Matrix left, Matrix right) {
    Matrix result;
#define X(entry) result.entry = left.entry - right.entry;
    RM_EACH_ENTRY(X)
#undef X
    return result;
}

// The transformation "left, then right"
RMAPI Matrix MatrixMultiply(Matrix left, Matrix right) {
    Matrix result;
#define X(a, b, c, d)                                                                              \
    result.a = left.a * right.m0 + left.b * right.m4 + left.c * right.m8 + left.d * right.m12;     \
    result.b = left.a * right.m1 + left.b * right.m5 + left.c * right.m9 + left.d * right.m13;     \
    result.c = left.a * right.m2 + left.b * right.m6 + left.c * right.m10 + left.d * right.m14;    \
    result.d = left.a * right.m3 + left.b * right.m7 + left.c * right.m11 + left.d * right.m15;
    X(m0, m1, m2, m3)
    X(m4, m5, m6, m7)
    X(m8, m9, m10, m11)
    X(m12, m13, m14, m15)
#undef X
    return result;
}

RMAPI Matrix MatrixTranslate(float x, float y, float z) {
    Matrix result = MatrixIdentity();
    result.m12 = x;
    result.m13 = y;
    result.m14 = z;
    return result;
}

// A turn about an axis of any length but 0
RMAPI Matrix MatrixRotate(Vector3 axis, float angle) {
    Vector3 a = Vector3Normalize(axis);
    float s = sinf(angle), c = cosf(angle), t = 1.0f - c;
    Matrix result = {a.x * a.x * t + c,
                     a.x * a.y * t - a.z * s,
                     a.x * a.z * t + a.y * s,
                     0.0f,
                     a.y * a.x * t + a.z * s,
                     a.y * a.y * t + c,
                     a.y * a.z * t - a.x * s,
                     0.0f,
                     a.z * a.x * t - a.y * s,
                     a.z * a.y * t + a.x * s,
                     a.z * a.z * t + c,
                     0.0f,
                     0.0f,
                     0.0f,
                     0.0f,
                     1.0f};
    return result;
}

RMAPI Matrix MatrixRotateX(float angle) {
    Matrix result = MatrixIdentity();
    float c = cosf(angle), s = sinf(angle);
    result.m5 = c;
    result.m9 = -s;
    result.m6 = s;
    result.m10 = c;
    return result;
}

RMAPI Matrix MatrixRotateY(float angle) {
    Matrix result = MatrixIdentity();
    float c = cosf(angle), s = sinf(angle);
    result.m0 = c;
    result.m8 = s;
    result.m2 = -s;
    result.m10 = c;
    return result;
}

RMAPI Matrix MatrixRotateZ(float angle) {
    Matrix result = MatrixIdentity();
    float c = cosf(angle), s = sinf(angle);
    result.m0 = c;
    result.m4 = -s;
    result.m1 = s;
    result.m5 = c;
    return result;
}

// Turns about z, then y, then x
RMAPI Matrix MatrixRotateXYZ(Vector3 angle) {
    float cx = cosf(angle.x), cy = cosf(angle.y), cz = cosf(angle.z);
    float sx = sinf(angle.x), sy = sinf(angle.y), sz = sinf(angle.z);
    Matrix result = {cz * cy,
                     -sz * cy,
                     sy,
                     0.0f,
                     cz * sy * sx + sz * cx,
                     cz * cx - sz * sy * sx,
                     -cy * sx,
                     0.0f,
                     sz * sx - cz * sy * cx,
                     sz * sy * cx + cz * sx,
                     cy * cx,
                     0.0f,
                     0.0f,
                     0.0f,
                     0.0f,
                     1.0f};
    return result;
}

// Turns about x, then y, then z
RMAPI Matrix MatrixRotateZYX(Vector3 angle) {
    float cx = cosf(angle.x), cy = cosf(angle.y), cz = cosf(angle.z);
    float sx = sinf(angle.x), sy = sinf(angle.y), sz = sinf(angle.z);
    Matrix result = {cz * cy,
                     cz * sy * sx - cx * sz,
                     sz * sx + cz * cx * sy,
                     0.0f,
                     cy * sz,
                     cz * cx + sz * sy * sx,
                     cx * sz * sy - cz * sx,
                     0.0f,
                     -sy,
                     cy * sx,
                     cy * cx,
                     0.0f,
                     0.0f,
                     0.0f,
                     0.0f,
                     1.0f};
    return result;
}

RMAPI Matrix MatrixScale(float x, float y, float z) {
    Matrix result = {x,    0.0f, 0.0f, 0.0f, 0.0f, y,    0.0f, 0.0f,
                     0.0f, 0.0f, z,    0.0f, 0.0f, 0.0f, 0.0f, 1.0f};
    return result;
}

// Perspective through a window of any place and size in the near plane
RMAPI Matrix MatrixFrustum(double left, double right, double bottom, double top, double nearPlane,
                           double farPlane) {
    double width = right - left, height = top - bottom, depth = farPlane - nearPlane;
    Matrix result = {(float)(2.0 * nearPlane / width),
                     0.0f,
                     (float)((right + left) / width),
                     0.0f,
                     0.0f,
                     (float)(2.0 * nearPlane / height),
                     (float)((top + bottom) / height),
                     0.0f,
                     0.0f,
                     0.0f,
                     (float)(-(farPlane + nearPlane) / depth),
                     (float)(-2.0 * farPlane * nearPlane / depth),
                     0.0f,
                     0.0f,
                     -1.0f,
                     0.0f};
    return result;
}

// fovY is the whole vertical angle of view; aspect is width over height
RMAPI Matrix MatrixPerspective(double fovY, double aspect, double nearPlane, double farPlane) {
    double top = nearPlane * tan(0.5 * fovY), right = top * aspect;
    return MatrixFrustum(-right, right, -top, top, nearPlane, farPlane);
}

// Parallel projection of a box
RMAPI Matrix MatrixOrtho(double left, double right, double bottom, double top, double nearPlane,
                         double farPlane) {
    double width = right - left, height = top - bottom, depth = farPlane - nearPlane;
    Matrix result = {(float)(2.0 / width),
                     0.0f,
                     0.0f,
                     (float)(-(left + right) / width),
                     0.0f,
                     (float)(2.0 / height),
                     0.0f,
                     (float)(-(top + bottom) / height),
                     0.0f,
                     0.0f,
                     (float)(-2.0 / depth),
                     (float)(-(farPlane + nearPlane) / depth),
                     0.0f,
                     0.0f,
                     0.0f,
                     1.0f};
    return result;
}

// World to camera: the camera stands at eye, sees target along -z, and up is up
RMAPI Matrix MatrixLookAt(Vector3 eye, Vector3 target, Vector3 up) {
    Vector3 z = Vector3Normalize(Vector3Subtract(eye, target));
    Vector3 x = Vector3Normalize(Vector3CrossProduct(up, z));
    Vector3 y = Vector3CrossProduct(z, x);
    Matrix result = {
        x.x, x.y, x.z, -Vector3DotProduct(x, eye), y.x,  y.y,  y.z,  -Vector3DotProduct(y, eye),
        z.x, z.y, z.z, -Vector3DotProduct(z, eye), 0.0f, 0.0f, 0.0f, 1.0f};
    return result;
}

RMAPI float16 MatrixToFloatV(Matrix mat) {
    float16 result = {{mat.m0, mat.m1, mat.m2, mat.m3, mat.m4, mat.m5, mat.m6, mat.m7, mat.m8,
                       mat.m9, mat.m10, mat.m11, mat.m12, mat.m13, mat.m14, mat.m15}};
    return result;
}

// ---- Quaternion ------------------------------------------------------------------------------

RMAPI Quaternion QuaternionAdd(Quaternion q1, Quaternion q2) { return Vector4Add(q1, q2); }
RMAPI Quaternion QuaternionAddValue(Quaternion q, float add) { return Vector4AddValue(q, add); }
RMAPI Quaternion QuaternionSubtract(Quaternion q1, Quaternion q2) {
    return Vector4Subtract(q1, q2);
}
RMAPI Quaternion QuaternionSubtractValue(Quaternion q, float sub) {
    return Vector4SubtractValue(q, sub);
}
RMAPI Quaternion QuaternionIdentity(void) { return rm_vec4(0.0f, 0.0f, 0.0f, 1.0f); }
RMAPI float QuaternionLength(Quaternion q) { return Vector4Length(q); }
RMAPI Quaternion QuaternionNormalize(Quaternion q) { return Vector4Normalize(q); }
RMAPI Quaternion QuaternionScale(Quaternion q, float mul) { return Vector4Scale(q, mul); }

// Component by component: not the inverse of QuaternionMultiply
RMAPI Quaternion QuaternionDivide(Quaternion q1, Quaternion q2) { return Vector4Divide(q1, q2); }

// The q' with q' q = 1; zero stays zero
RMAPI Quaternion QuaternionInvert(Quaternion q) {
    float sqr = Vector4LengthSqr(q);
    if (sqr == 0.0f) return q;
    float inverse = 1.0f / sqr;
    return rm_vec4(-q.x * inverse, -q.y * inverse, -q.z * inverse, q.w * inverse);
}

// Hamilton's product: the turn q2, then q1
RMAPI Quaternion QuaternionMultiply(Quaternion q1, Quaternion q2) {
    return rm_vec4(q1.x * q2.w + q1.w * q2.x + q1.y * q2.z - q1.z * q2.y,
                   q1.y * q2.w + q1.w * q2.y + q1.z * q2.x - q1.x * q2.z,
                   q1.z * q2.w + q1.w * q2.z + q1.x * q2.y - q1.y * q2.x,
                   q1.w * q2.w - q1.x * q2.x - q1.y * q2.y - q1.z * q2.z);
}

RMAPI Quaternion QuaternionLerp(Quaternion q1, Quaternion q2, float amount) {
    return Vector4Lerp(q1, q2, amount);
}

// Lerp brought back to length 1: nearly Slerp for small turns, and cheaper
RMAPI Quaternion QuaternionNlerp(Quaternion q1, Quaternion q2, float amount) {
    return QuaternionNormalize(QuaternionLerp(q1, q2, amount));
}

// The shorter arc from q1 to q2 at constant speed; near parallel, where the sine loses its
// digits, a straight line stands in
RMAPI Quaternion QuaternionSlerp(Quaternion q1, Quaternion q2, float amount) {
    float cosine = Vector4DotProduct(q1, q2);
    if (cosine < 0.0f) {
        q2 = Vector4Negate(q2);
        cosine = -cosine;
    }
    if (cosine >= 1.0f) return q1;
    if (cosine > 0.95f) return QuaternionNlerp(q1, q2, amount);
    float half = acosf(cosine), sine = sqrtf(1.0f - cosine * cosine);
    return Vector4Add(Vector4Scale(q1, sinf((1.0f - amount) * half) / sine),
                      Vector4Scale(q2, sinf(amount * half) / sine));
}

// As Vector3CubicHermite, brought back to length 1
RMAPI Quaternion QuaternionCubicHermiteSpline(Quaternion q1, Quaternion outTangent1, Quaternion q2,
                                              Quaternion inTangent2, float t) {
    Vector4 h = rm_hermite(t);
    Quaternion start = Vector4Add(Vector4Scale(q1, h.x), Vector4Scale(outTangent1, h.y));
    Quaternion end = Vector4Add(Vector4Scale(q2, h.z), Vector4Scale(inTangent2, h.w));
    return QuaternionNormalize(Vector4Add(start, end));
}

// The shortest turn that brings one direction to the other; both of length 1, as in raylib.
// Zero for opposite directions, where every axis at right angles would do
RMAPI Quaternion QuaternionFromVector3ToVector3(Vector3 from, Vector3 to) {
    Vector3 axis = Vector3CrossProduct(from, to);    // |from||to| = hypot(cross, dot): any length
    float along = Vector3DotProduct(from, to);
    float w = sqrtf(Vector3LengthSqr(axis) + along * along) + along;
    return QuaternionNormalize(rm_vec4(axis.x, axis.y, axis.z, w));
}

// The turn in the upper left 3 x 3 of mat. The largest of the four components is taken from
// the diagonal, so that nothing is divided by a small number
RMAPI Quaternion QuaternionFromMatrix(Matrix mat) {
    float w = mat.m0 + mat.m5 + mat.m10, x = mat.m0 - mat.m5 - mat.m10;
    float y = mat.m5 - mat.m0 - mat.m10, z = mat.m10 - mat.m0 - mat.m5;
    float most = fmaxf(fmaxf(w, x), fmaxf(y, z));
    float big = 0.5f * sqrtf(most + 1.0f), f = 0.25f / big;
    if (most == w)
        return rm_vec4((mat.m6 - mat.m9) * f, (mat.m8 - mat.m2) * f, (mat.m1 - mat.m4) * f, big);
    if (most == x)
        return rm_vec4(big, (mat.m1 + mat.m4) * f, (mat.m8 + mat.m2) * f, (mat.m6 - mat.m9) * f);
    if (most == y)
        return rm_vec4((mat.m1 + mat.m4) * f, big, (mat.m6 + mat.m9) * f, (mat.m8 - mat.m2) * f);
    return rm_vec4((mat.m8 + mat.m2) * f, (mat.m6 + mat.m9) * f, big, (mat.m1 - mat.m4) * f);
}

RMAPI Matrix QuaternionToMatrix(Quaternion q) {
    float xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    float xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
    float wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    Matrix result = {1.0f - 2.0f * (yy + zz),
                     2.0f * (xy - wz),
                     2.0f * (xz + wy),
                     0.0f,
                     2.0f * (xy + wz),
                     1.0f - 2.0f * (xx + zz),
                     2.0f * (yz - wx),
                     0.0f,
                     2.0f * (xz - wy),
                     2.0f * (yz + wx),
                     1.0f - 2.0f * (xx + yy),
                     0.0f,
                     0.0f,
                     0.0f,
                     0.0f,
                     1.0f};
    return result;
}

// The identity for an axis of length 0
RMAPI Quaternion QuaternionFromAxisAngle(Vector3 axis, float angle) {
    if (Vector3Length(axis) == 0.0f) return QuaternionIdentity();
    Vector3 a = Vector3Scale(Vector3Normalize(axis), sinf(0.5f * angle));
    return QuaternionNormalize(rm_vec4(a.x, a.y, a.z, cosf(0.5f * angle)));
}

// The axis is (1, 0, 0) where there is hardly any turn
RMAPI void QuaternionToAxisAngle(Quaternion q, Vector3* outAxis, float* outAngle) {
    if (fabsf(q.w) > 1.0f) q = QuaternionNormalize(q);
    float sine = sqrtf(1.0f - q.w * q.w);
    *outAngle = 2.0f * acosf(q.w);
    *outAxis = sine > EPSILON ? rm_vec3(q.x / sine, q.y / sine, q.z / sine)
                              : rm_vec3(1.0f, 0.0f, 0.0f);
}

// pitch about x, then yaw about y, then roll about z
RMAPI Quaternion QuaternionFromEuler(float pitch, float yaw, float roll) {
    float cx = cosf(0.5f * pitch), cy = cosf(0.5f * yaw), cz = cosf(0.5f * roll);
    float sx = sinf(0.5f * pitch), sy = sinf(0.5f * yaw), sz = sinf(0.5f * roll);
    return rm_vec4(sx * cy * cz - cx * sy * sz, cx * sy * cz + sx * cy * sz,
                   cx * cy * sz - sx * sy * cz, cx * cy * cz + sx * sy * sz);
}

// The angles about x, y, z that QuaternionFromEuler takes
RMAPI Vector3 QuaternionToEuler(Quaternion q) {
    float sine = Clamp(2.0f * (q.w * q.y - q.z * q.x), -1.0f, 1.0f);
    return rm_vec3(atan2f(2.0f * (q.w * q.x + q.y * q.z), 1.0f - 2.0f * (q.x * q.x + q.y * q.y)),
                   asinf(sine),
                   atan2f(2.0f * (q.w * q.z + q.x * q.y), 1.0f - 2.0f * (q.y * q.y + q.z * q.z)));
}

// mat applied to the four components
RMAPI Quaternion QuaternionTransform(Quaternion q, Matrix mat) {
    return rm_vec4(mat.m0 * q.x + mat.m4 * q.y + mat.m8 * q.z + mat.m12 * q.w,
                   mat.m1 * q.x + mat.m5 * q.y + mat.m9 * q.z + mat.m13 * q.w,
                   mat.m2 * q.x + mat.m6 * q.y + mat.m10 * q.z + mat.m14 * q.w,
                   mat.m3 * q.x + mat.m7 * q.y + mat.m11 * q.z + mat.m15 * q.w);
}

// 1 if p and q are the same turn: q and -q are
RMAPI int QuaternionEquals(Quaternion p, Quaternion q) {
    return Vector4Equals(p, q) || Vector4Equals(p, Vector4Negate(q));
}

// ---- what needs both matrices and quaternions ------------------------------------------------

// From screen space, z included, back to the space that view and projection started from
RMAPI Vector3 Vector3Unproject(Vector3 source, Matrix projection, Matrix view) {
    Matrix back = MatrixInvert(MatrixMultiply(view, projection));
    Quaternion q = QuaternionTransform(rm_vec4(source.x, source.y, source.z, 1.0f), back);
    return rm_vec3(q.x / q.w, q.y / q.w, q.z / q.w);
}

// Scale, then rotation, then translation
RMAPI Matrix MatrixCompose(Vector3 translation, Quaternion rotation, Vector3 scale) {
    Vector3 x = Vector3RotateByQuaternion(rm_vec3(scale.x, 0.0f, 0.0f), rotation);
    Vector3 y = Vector3RotateByQuaternion(rm_vec3(0.0f, scale.y, 0.0f), rotation);
    Vector3 z = Vector3RotateByQuaternion(rm_vec3(0.0f, 0.0f, scale.z), rotation);
    Matrix result = {x.x, y.x, z.x, translation.x, x.y,  y.y,  z.y,  translation.y,
                     x.z, y.z, z.z, translation.z, 0.0f, 0.0f, 0.0f, 1.0f};
    return result;
}

// Takes mat apart: mat = translation, scale and rotation, of a mat without shear. The scales are the
// lengths of the rows (as in raylib), which is to say that the scaling comes after the turn.
// MatrixCompose scales first: the two undo each other where the scales are equal, or the turn
// is none
RMAPI void MatrixDecompose(Matrix mat, Vector3* translation, Quaternion* rotation, Vector3* scale) {
    *translation = rm_vec3(mat.m12, mat.m13, mat.m14);
    // The rows over their largest entry, so that no square overflows or vanishes
    Vector3 row[3] = {rm_vec3(mat.m0, mat.m4, mat.m8), rm_vec3(mat.m1, mat.m5, mat.m9),
                      rm_vec3(mat.m2, mat.m6, mat.m10)};
    float largest = 1e-9f, size[3];
    for (int i = 0; i < 3; i++)
        largest = fmaxf(largest, fmaxf(fabsf(row[i].x), fmaxf(fabsf(row[i].y), fabsf(row[i].z))));
    for (int i = 0; i < 3; i++) {
        row[i] = Vector3Scale(row[i], 1.0f / largest);
        for (int j = 0; j < i; j++)    // what leans on the rows before is shear
            row[i] = Vector3Subtract(row[i],
                                     Vector3Scale(row[j], Vector3DotProduct(row[i], row[j])));
        size[i] = Vector3Length(row[i]);
        if (size[i] > 1e-9f) row[i] = Vector3Scale(row[i], 1.0f / size[i]);
    }
    float turn = Vector3DotProduct(row[0], Vector3CrossProduct(row[1], row[2])) < 0.0f ? -1.0f
                                                                                       : 1.0f;
    *scale = Vector3Scale(rm_vec3(size[0], size[1], size[2]), turn * largest);
    for (int i = 0; i < 3; i++) row[i] = Vector3Scale(row[i], turn);    // a mirror is no turn
    mat.m0 = row[0].x;
    mat.m4 = row[0].y;
    mat.m8 = row[0].z;
    mat.m1 = row[1].x;
    mat.m5 = row[1].y;
    mat.m9 = row[1].z;
    mat.m2 = row[2].x;
    mat.m6 = row[2].y;
    mat.m10 = row[2].z;
    *rotation = QuaternionFromMatrix(mat);
}

#undef RM_EACH_ENTRY

// ---- C++ operators, unless RAYMATH_DISABLE_CPP_OPERATORS -------------------------------------

#if defined(__cplusplus) && !defined(RAYMATH_DISABLE_CPP_OPERATORS)

// T o T for + - * / and their assignments; T o float for * and /; == and != within EPSILON
#define RM_OPERATORS(T)                                                                            \
    RMAPI T operator+(const T& a, const T& b) { return T##Add(a, b); }                             \
    RMAPI T operator-(const T& a, const T& b) { return T##Subtract(a, b); }                        \
    RMAPI T operator*(const T& a, const T& b) { return T##Multiply(a, b); }                        \
    RMAPI T operator/(const T& a, const T& b) { return T##Divide(a, b); }                          \
    RMAPI T operator*(const T& a, const float& b) { return T##Scale(a, b); }                       \
    RMAPI T operator/(const T& a, const float& b) { return T##Scale(a, 1.0f / b); }                \
    RMAPI const T& operator+=(T& a, const T& b) { return a = a + b; }                              \
    RMAPI const T& operator-=(T& a, const T& b) { return a = a - b; }                              \
    RMAPI const T& operator*=(T& a, const T& b) { return a = a * b; }                              \
    RMAPI const T& operator/=(T& a, const T& b) { return a = a / b; }                              \
    RMAPI const T& operator*=(T& a, const float& b) { return a = a * b; }                          \
    RMAPI const T& operator/=(T& a, const float& b) { return a = a / b; }                          \
    RMAPI bool operator==(const T& a, const T& b) { return T##Equals(a, b) != 0; }                 \
    RMAPI bool operator!=(const T& a, const T& b) { return T##Equals(a, b) == 0; }

RM_OPERATORS(Vector2)
RM_OPERATORS(Vector3)
RM_OPERATORS(Vector4)
#undef RM_OPERATORS

RMAPI Vector2 operator*(const Vector2& v, const Matrix& m) { return Vector2Transform(v, m); }
RMAPI Vector3 operator*(const Vector3& v, const Matrix& m) { return Vector3Transform(v, m); }
RMAPI Quaternion operator*(const Quaternion& q, const Matrix& m) {
    return QuaternionTransform(q, m);
}
RMAPI const Vector2& operator*=(Vector2& v, const Matrix& m) { return v = v * m; }
RMAPI const Vector3& operator*=(Vector3& v, const Matrix& m) { return v = v * m; }
RMAPI const Quaternion& operator*=(Quaternion& q, const Matrix& m) { return q = q * m; }
RMAPI Quaternion operator+(const Quaternion& q, const float& add) {
    return QuaternionAddValue(q, add);
}
RMAPI Quaternion operator-(const Quaternion& q, const float& sub) {
    return QuaternionSubtractValue(q, sub);
}

RMAPI Matrix operator+(const Matrix& a, const Matrix& b) { return MatrixAdd(a, b); }
RMAPI Matrix operator-(const Matrix& a, const Matrix& b) { return MatrixSubtract(a, b); }
RMAPI Matrix operator*(const Matrix& a, const Matrix& b) { return MatrixMultiply(a, b); }
RMAPI const Matrix& operator+=(Matrix& a, const Matrix& b) { return a = a + b; }
RMAPI const Matrix& operator-=(Matrix& a, const Matrix& b) { return a = a - b; }
RMAPI const Matrix& operator*=(Matrix& a, const Matrix& b) { return a = a * b; }

static constexpr Vector2 Vector2Zeros = {0, 0};
static constexpr Vector2 Vector2Ones = {1, 1};
static constexpr Vector2 Vector2UnitX = {1, 0};
static constexpr Vector2 Vector2UnitY = {0, 1};
static constexpr Vector3 Vector3Zeros = {0, 0, 0};
static constexpr Vector3 Vector3Ones = {1, 1, 1};
static constexpr Vector3 Vector3UnitX = {1, 0, 0};
static constexpr Vector3 Vector3UnitY = {0, 1, 0};
static constexpr Vector3 Vector3UnitZ = {0, 0, 1};
static constexpr Vector4 Vector4Zeros = {0, 0, 0, 0};
static constexpr Vector4 Vector4Ones = {1, 1, 1, 1};
static constexpr Vector4 Vector4UnitX = {1, 0, 0, 0};
static constexpr Vector4 Vector4UnitY = {0, 1, 0, 0};
static constexpr Vector4 Vector4UnitZ = {0, 0, 1, 0};
static constexpr Vector4 Vector4UnitW = {0, 0, 0, 1};
static constexpr Quaternion QuaternionZeros = {0, 0, 0, 0};
static constexpr Quaternion QuaternionOnes = {1, 1, 1, 1};
static constexpr Quaternion QuaternionUnitX = {0, 0, 0, 1};

#endif    // operators

#endif    // RAYMATH_H
