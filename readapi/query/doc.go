// Package query is the only SQL that reads the projection, in files that are named after their operations.
//
// The laws:
//
//   - One statement per answer. A list's rows, total and watermark come from one snapshot of one generation, even while
//     generations are switched by renaming schemas.
//   - Columns are named, never starred, and every order is total. A star stands only for what the same statement names.
//   - A list never counts itself and never skips more than a day. The projector keeps the number of rows per day; their sum
//     from the newest day on is the total and tells in which day a page begins.
//   - A list's file selects its rows and nothing else. page.sql, around rows or around an index's keys, cuts a page of many by
//     the counts; pick.sql counts the few that an exact filter picks out; detail.sql finds one.
//   - Every set of filters is a statement of its own, composed once, not a condition that is sometimes switched off: a generic
//     plan could use no index then.
//   - A key that is narrowed to an extension that is not alive asks with a null extension, which equals nothing.
package query
