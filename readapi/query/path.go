package query

import (
	_ "embed"
	"strconv"
	"strings"
)

// listSource is what a list's statements are composed of.
type listSource struct {
	list      string      // in projection.row_count
	rows      string      // selects the rows of system $2 in partition $1 from a table r, and ends with its conditions
	selective []condition // each selects few rows, which the statement counts itself
	counted   condition   // has an index in the list's order and is counted by the projector; empty: none
}

// condition is what a filter requires of a row.
type condition struct {
	column Column
	sql    string // on r, with ? for the value
	keys   string // selects created_at and id of the rows for value $8 from an index table, if r has no index for it
}

// equals is the condition on a column of the rows' table.
func equals(c Column) condition { return condition{column: c, sql: "r." + string(c) + " = ?"} }

// and adds the condition to a statement that ends with conditions.
func (c condition) and(rows, value string) string {
	return rows + "  and " + strings.ReplaceAll(c.sql, "?", value) + "\n"
}

// path is the statement for one set of filters. Each set has its own: a condition that can be switched off by an
// argument keeps a generic plan from using an index.
type path struct {
	columns []Column // in the order of their values
	sql     string

	// The projector has counted the rows: sql returns a page after the first one, and firstSQL the first page. Empty:
	// sql returns any page, and counts the rows.
	firstSQL string
}

// statement returns the statement of a page, and its arguments after the phone system.
func (p path) statement(f Filter, values []any) (sql string, arguments []any) {
	w := f.Window.ordered()
	if p.firstSQL == "" {
		return p.sql, append([]any{w.From, w.Until, f.Offset, f.Limit}, values...)
	}

	if len(values) == 0 {
		values = []any{""} // the subset of all rows
	}

	// The projector's counts serve whole days, the index the rest of the window.
	days := w.wholeDays()
	arguments = append([]any{w.From, w.Until, f.Limit, days.From, days.Until}, values...)

	if f.Offset == 0 {
		return p.firstSQL, arguments
	}
	return p.sql, append(arguments, f.Offset)
}

func (s listSource) paths() []path {
	paths := []path{s.countedPath("", "page_row", s.rows)}

	// The rows of a counted condition come from the rows' table, or by the keys of an index table.
	if c := s.counted; c.keys != "" {
		page := "(select r.* from page_row join (" + s.rows +
			") r on r.id = page_row.id order by r.created_at desc, r.id desc)"
		paths = append(paths, s.countedPath(c.column, page, c.keys))
	} else if c.sql != "" {
		paths = append(paths, s.countedPath(c.column, "page_row", c.and(s.rows, "$8::text")))
	}

	// Every combination of selective filters has a statement, with and without the counted condition.
	for _, some := range subsets(s.selective) {
		paths = append(paths, s.selectivePath(some))
		if s.counted.sql != "" {
			paths = append(paths, s.selectivePath(append(some, s.counted)))
		}
	}

	return paths
}

var (
	//go:embed first_page.sql
	firstPageSQL string

	//go:embed page.sql
	pageSQL string

	//go:embed window.sql
	windowSQL string
)

func (s listSource) countedPath(column Column, page, keys string) path {
	replaced := strings.NewReplacer("{{list}}", s.list, "{{page}}", page, "{{keys}}", keys)
	compose := func(sql string) string { return replaced.Replace(strings.ReplaceAll(sql, "{{window}}", windowSQL)) }
	p := path{sql: compose(pageSQL), firstSQL: compose(firstPageSQL)}
	if column != "" {
		p.columns = []Column{column}
	}
	return p
}

//go:embed page_of_few.sql
var pageOfFewSQL string

func (s listSource) selectivePath(conditions []condition) path {
	p := path{}
	rows := s.rows
	for i, c := range conditions {
		rows = c.and(rows, "$"+strconv.Itoa(7+i))
		p.columns = append(p.columns, c.column)
	}
	p.sql = strings.ReplaceAll(pageOfFewSQL, "{{rows}}", rows)
	return p
}

// subsets are the non-empty subsets of the conditions.
func subsets(conditions []condition) [][]condition {
	var all [][]condition
	for _, c := range conditions {
		for _, some := range all {
			all = append(all, append(some[:len(some):len(some)], c))
		}
		all = append(all, []condition{c})
	}
	return all
}
