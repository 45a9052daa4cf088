// Package audio signs links to the audio of recordings, which lies in a store of objects that publishers write and this
// package only points at.
//
// A link is a bearer's: whoever has it can listen for 15 minutes, without a key. So a link is nowhere but in the answer that it
// was asked for: no log, error, metric or trace has one.
//
//   - A bucket's links are signed here and served by the bucket. Signing asks nobody.
//   - A folder's links lead back to the reader. All that they grant is sealed in their last segment: which file, as what, until
//     when. Nothing of it can be read or changed on the way.
package audio
