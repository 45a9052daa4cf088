package readapi

import (
	"context"

	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// topologyList answers with a page of a kind of the phone system's topology, newest first. The rows are stored as JSON.
func topologyList(p *query.Projection, kind string) handler {
	// Topology adds the status itself, so only the other columns are passed.
	filters := topologyFilters(kind)
	var columns []query.Column
	for _, f := range filters[1:] {
		columns = append(columns, f.column)
	}

	list, row := p.Topology(kind, columns...), encode.Stored(encode.Instant("createdAt"), encode.Identifier("id"))

	return func(ctx context.Context, q *request, out *reply) error {
		page := q.parameters.page()
		found, err := q.list(ctx, out, list, row, page, q.filter(page, query.Always(), filters))
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

// topologyFilters are the filters of a kind's list, of which the status is the first.
func topologyFilters(kind string) []filter {
	status := filter{"status", query.Status, (*parameters).freeText}

	switch kind {
	case "phone":
		return []filter{status, {"extensionId", query.ExtensionID, (*parameters).identifier}}
	case "phone-number":
		return []filter{status, {"phoneNumber", query.Number, (*parameters).freeText}}
	case "extension", "call-group":
		return []filter{status, {"number", query.Number, (*parameters).freeText}}

	case "agent-config":
		status.read = oneOf("active", "inactive", "paused", "archived", "testing")
		return []filter{status, {"agentNumber", query.Number, (*parameters).agentNumber}}
	default:
		return []filter{status}
	}
}
