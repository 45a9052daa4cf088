// Package encode writes JSON straight from the columns of PostgreSQL's rows, in the binary format, without a value of
// Go in between.
//
// A resource has one [Layout]: its JSON members in the order of its statements' columns. [RowWriter] writes a page's
// rows by it. A statement whose columns are of other types than the table's is an error before its first row is
// written.
package encode
