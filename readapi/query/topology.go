package query

import (
	_ "embed"
	"strings"
)

var (
	//go:embed list_topology.sql
	listTopologySQL string

	//go:embed get_topology.sql
	getTopologySQL string
)

// Topology lists the rows of a kind of a system's topology, such as "phone". They can be filtered by their status and
// by the columns.
func (p *Projection) Topology(kind string, columns ...Column) *List {
	source := listSource{list: kind, rows: strings.ReplaceAll(listTopologySQL, "{{kind}}", kind), counted: equals(Status)}
	for _, c := range columns {
		source.selective = append(source.selective, equals(c))
	}
	return p.list(kind+"s", source)
}

// TopologyDetail is one row of a kind of topology.
func (p *Projection) TopologyDetail(kind string) *Detail {
	return &Detail{p, kind, getTopologySQL, func(k Key) []any { return []any{k.ID, kind} }}
}
