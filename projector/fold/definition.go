package fold

import (
	"strings"

	"callboard/events"
)

// ClassificationKeyOf is the key of an event of a classification.
func ClassificationKeyOf(e events.Event) ClassificationKey {
	kind, code, _ := strings.Cut(e.Key, "/")
	return ClassificationKey{e.System, kind, code}
}

func classification(c *events.Classification) Classification {
	return Classification{
		ClassificationKey: ClassificationKey{c.PhoneSystemID.Value, c.Kind, c.Code},
		Version:           c.Version,
		Label:             c.Label,
		Status:            c.Status,
		Score:             c.Score,
		UpdatedAt:         c.UpdatedAt,
	}
}

func representative(r *events.Representative) Representative {
	return Representative{
		Key:       Key{r.PhoneSystemID, r.ID},
		Version:   r.Version,
		Name:      r.Name,
		Status:    r.Status,
		UpdatedAt: r.UpdatedAt,
	}
}
