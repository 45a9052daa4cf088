// Package audio signs links to the audio of recordings. Publishers write the audio to a store of objects; this
// package only refers to it.
//
// A link gives access for 15 minutes, without a key. So links appear in responses and nowhere else, neither in logs,
// errors and metrics nor in traces.
//
//   - The links of a bucket are signed here and served by the bucket. Signing sends no request.
//   - The links of a folder lead to the reader. Their last segment is sealed and contains the file, its type and the
//     expiry. Clients can neither read nor change it.
package audio
