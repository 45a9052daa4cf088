package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// output is how a command answers.
type output struct {
	JSON bool `name:"json" help:"Answer in JSON."`
}

// print writes v as JSON where that is wanted, and else what people writes.
func (o output) print(w io.Writer, v any, people func(io.Writer) error) error {
	if !o.JSON {
		return people(w)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// table writes rows in columns.
func table(w io.Writer, rows [][]string) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(columns, "\t")
			}
			fmt.Fprint(columns, cell)
		}
		fmt.Fprintln(columns)
	}
	return columns.Flush()
}
