package readapi

import (
	"context"

	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// topologyList answers with a page of a kind of the phone system's topology, newest first. The rows are stored as JSON.
func topologyList(p *query.Projection, kind string, filters ...filter) handler {
	var columns []query.Column
	for _, f := range filters {
		if f.column != query.Status {
			columns = append(columns, f.column)
		}
	}
	list, row := p.Topology(kind, columns...), encode.Stored(encode.Instant("createdAt"), encode.Identifier("id"))
	return func(ctx context.Context, q *request, out *reply) error {
		page := q.parameters.page()
		f := q.filter(page, query.Always(), filters)
		found, err := q.list(ctx, out, list, row, page, f)
		if err != nil {
			return err
		}
		if page.number < page.count(found.Total) {
			out.next = q.next(page)
		}
		out.hasETag = true
		return nil
	}
}

// topologyDetail answers with one row of a kind of the phone system's topology.
func topologyDetail(p *query.Projection, kind string) handler {
	return detail(p.TopologyDetail(kind), encode.Stored())
}

func phoneFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).freeText},
		{"extensionId", query.ExtensionID, (*parameters).identifier},
	}
}

func phoneNumberFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).freeText},
		{"phoneNumber", query.Number, (*parameters).freeText},
	}
}

func agentConfigFilters() []filter {
	return []filter{
		{"status", query.Status, oneOf("active", "inactive", "paused", "archived", "testing")},
		{"agentNumber", query.Number, (*parameters).agentNumber},
	}
}

// numberFilters are those of extensions and of call groups.
func numberFilters() []filter {
	return []filter{
		{"status", query.Status, (*parameters).freeText},
		{"number", query.Number, (*parameters).freeText},
	}
}

func callMenuFilters() []filter {
	return []filter{{"status", query.Status, (*parameters).freeText}}
}
