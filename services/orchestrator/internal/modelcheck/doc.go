// Package modelcheck finds out how well a model calls tools: it asks for calls of
// many kinds, through the client and the reader of arguments that runs use, and
// judges what comes back.
//
// [Generate] makes the cases from a seed, [Run] asks them, [Judge] compares an
// answer with what was asked for, [Summarize] adds up, [Suggest] and [Decide] find
// settings with which the model would do better. All but Run are pure functions.
package modelcheck
