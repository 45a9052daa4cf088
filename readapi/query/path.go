package query

import (
	_ "embed"
	"strconv"
	"strings"
)

// source is what a list's statements are composed of.
type source struct {
	counted string      // the list's name in projection.day_count
	rows    string      // selects the rows of system $1, from a table r; ends in its conditions
	picks   []condition // each holds for few rows, which are counted
	divides condition   // its values are indexed in the list's order and counted per day; none: empty
}

// condition is what an exact filter asks of a row.
type condition struct {
	column Column
	sql    string // on r, with ? for the value
	keys   string // selects created_at and id of the rows that it holds for, for value $8, where r has no index for it
}

// equals is the condition on a column of the rows' own table.
func equals(c Column) condition { return condition{column: c, sql: "r." + string(c) + " = ?"} }

// and is rows that meet the condition too.
func (c condition) and(rows, value string) string {
	return rows + "  and " + strings.ReplaceAll(c.sql, "?", value) + "\n"
}

// path is the statement for one set of exact filters. There is one for each, since a condition that is sometimes switched off
// can keep a generic plan from using any index.
type path struct {
	columns []Column // in the order of their values
	sql     string
	paged   bool // by the counts per day
}

// paths are all of a source's paths.
func (s source) paths() []path {
	paths := []path{s.page("", "cut", s.rows)}
	if d := s.divides; d.keys != "" {
		paths = append(paths, s.page(d.column, "(select r.* from cut join ("+s.rows+") r on r.id = cut.id)", d.keys))
	} else if d.sql != "" {
		paths = append(paths, s.page(d.column, "cut", d.and(s.rows, "$8::text")))
	}
	for _, some := range subsets(s.picks) {
		paths = append(paths, s.pick(some))
		if s.divides.sql != "" {
			paths = append(paths, s.pick(append(some, s.divides)))
		}
	}
	return paths
}

//go:embed page.sql
var pageSQL string

func (s source) page(column Column, page, keys string) path {
	sql := strings.NewReplacer("{{list}}", s.counted, "{{page}}", page, "{{keys}}", keys).Replace(pageSQL)
	if column == "" {
		return path{sql: sql, paged: true}
	}
	return path{columns: []Column{column}, sql: sql, paged: true}
}

//go:embed pick.sql
var pickSQL string

func (s source) pick(conditions []condition) path {
	p := path{}
	rows := s.rows
	for i, c := range conditions {
		rows = c.and(rows, "$"+strconv.Itoa(6+i))
		p.columns = append(p.columns, c.column)
	}
	p.sql = strings.ReplaceAll(pickSQL, "{{rows}}", rows)
	return p
}

// subsets are those of the conditions that aren't empty.
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
