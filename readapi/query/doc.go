// Package query contains the only SQL that reads the projection, in files that are named after their operations.
//
// The rules:
//
//   - One statement per answer. A list's rows, total and watermark come from one snapshot of one generation, even while
//     a rebuild switches generations by renaming schemas. The names of report pages are read apart, and used if their
//     snapshot has the edition of the page's: see [NameCache].
//   - Columns are named, and every order is total. A star stands only for columns that the same statement names.
//   - A list never counts all its rows and never skips more than a day's. The projector counts the rows per day. The
//     sum of these counts is the total. A page is found by adding them up from the newest day on.
//   - A list's file selects its rows and nothing else. first_page.sql and page.sql make pages of it by these counts,
//     which window.sql selects for both. page_of_few.sql makes a page of the few rows that a filter selects, and counts
//     them.
//   - Every other file is a complete statement.
//   - Every set of filters has its own statement, composed once. A generic plan for a condition that an argument
//     switches off could not use an index.
//   - A key that is narrowed to a deleted extension passes a null extension, which equals nothing.
package query
