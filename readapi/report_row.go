package readapi

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/readapi/encode"
)

// report is a row of the call log report.
func report() []encode.Member {
	return []encode.Member{
		encode.Identifier("id"),
		encode.System("phoneSystemId"),
		encode.Text("callSid"),
		encode.Text("parentCallSid"),
		encode.Text("direction"),

		encode.Instant("startTime"),
		encode.Instant("endTime"),
		encode.Integer("durationSeconds"),
		encode.Instant("createdAt"),
		encode.Instant("updatedAt"),

		encode.Text("from"),
		encode.Text("fromDisplay"),
		encode.Text("fromNumber"),
		encode.Text("fromName"),

		encode.Text("to"),
		encode.Text("toDisplay"),
		encode.Text("toNumber"),
		encode.Text("forwardedFrom"),

		encode.Text("status"),
		encode.Text("outcome"),
		encode.Text("callOutcomeCode"),
		encode.Boolean("isConverted"),
		encode.Text("conversionValue"),
		encode.Text("outcomeSource"),

		encode.Code("category", "category"),
		encode.ScoredCode("overallSentiment", "overall_sentiment"),
		encode.ScoredCode("employeeSentiment", "employee_sentiment"),
		encode.ScoredCode("customerSentiment", "customer_sentiment"),
		encode.Text("sentimentSource"),
		encode.Double("scorecardScore"),
		representative("representative"),

		encode.Present("hasRecording"),
		encode.Text("recordingSid"),
		encode.Integer("recordingDurationSeconds"),
		encode.Text("transcriptionStatus"),

		encode.Named("callGroup", "call_group"),
		encode.Named("answeredByExtension", "extension"),
		encode.Named("fromExtension", "extension"),

		encode.Boolean("isEmergency"),
		encode.Boolean("isEdited"),
		encode.JSON("tags"),
		encode.Text("routeSummary"),
	}
}

// transcribedReport is a row with its transcript, which is null unless the status is completed.
func transcribedReport() []encode.Member {
	return append(report(), encode.Object("transcript", encode.Text("text"), encode.JSON("turns")))
}

// representative is whom a call is attributed to, or null if that is a representative who was deleted. Its columns are
// the state, the representative's id, the confidence and the source.
func representative(name string) encode.Member {
	state, confidence, source := encode.Text("state"), encode.Double("confidence"), encode.Text("source")

	write := func(b []byte, r *encode.RowWriter, columns [][]byte) []byte {
		opening := `{"id":null,"name":null}`
		if string(columns[0]) == "identified" {
			opening = identified(r, columns[1])
		}
		if opening == "" {
			return append(b, "null"...)
		}

		// The state, the confidence and the source continue the object of the name.
		b = append(b, opening[:len(opening)-len("}")]...)
		b = append(b, `,"state":`...)
		b = state.Append(b, r, columns)
		b = append(b, `,"confidence":`...)
		b = confidence.Append(b, r, columns[2:])
		b = append(b, `,"source":`...)
		b = source.Append(b, r, columns[3:])
		return append(b, '}')
	}

	return encode.Member{Name: name, Types: []uint32{pgtype.TextOID, pgtype.UUIDOID, pgtype.Float8OID, pgtype.TextOID},
		Write: write}
}

// identified is the object of a representative; empty: there is none.
func identified(r *encode.RowWriter, id []byte) string {
	if id == nil {
		return ""
	}
	return r.Names.Reference("representative", uuid.UUID(id))
}
