// Package query is the only SQL that reads the projection: one file per access path, named after its operation.
//
// The laws:
//
//   - One statement per answer. A list's rows, total and watermark come from one snapshot of one generation, even while
//     generations are switched by renaming schemas.
//   - Columns are named, never starred, and every order is total.
//   - A list never counts itself and never skips more than a day. The projector keeps the number of rows per day; their sum
//     from the newest day on is the total and tells in which day a page begins.
//   - A filter that needs another index is another file, not a condition that is sometimes switched off: a generic plan could
//     use neither index then.
//   - A key that is narrowed to an extension that is not alive asks with a null extension, which equals nothing.
package query
