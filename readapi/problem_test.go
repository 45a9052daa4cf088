package readapi

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestProblem_Append(t *testing.T) {
	t.Parallel()
	retryable := map[code]bool{recordingNotReady: true, rateLimited: true, serviceUnavailable: true, externalServiceTimeout: true}
	for _, c := range []code{
		validationFailed, unauthenticated, insufficientScope, credentialNotAccepted, addressNotAllowed, notFound, methodNotAllowed, preconditionFailed,
		rangeNotSatisfiable, recordingNotReady, exportTooLarge, rateLimited, internalError, serviceUnavailable, externalServiceTimeout,
	} {
		p := &problem{code: c, retryAfter: 7, errors: []fieldProblem{{"/a", tooLong, "\"long\""}, {"/b", required, "missing"}},
			params: []param{{"guard", "x\ny"}, {"maxBytes", int64(5_500_000)}}}
		body := p.append(nil, "id")
		var got document
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if got.Code != c || got.Retryable != retryable[c] || got.RetryAfter != 7 || len(got.Errors) != 2 || got.Status != c.info().status ||
			got.Params["guard"] != "x\ny" || got.Params["maxBytes"] != 5.5e6 || strings.ContainsAny(got.Type, "_ABC") {
			t.Errorf("problem document of %s = %s", c, body)
		}
		if c != internalError && c.info().status == 500 {
			t.Errorf("status of %s = 500, want a unique one", c)
		}
		var members map[string]any
		if err := json.Unmarshal((&problem{code: c}).append(nil, "id"), &members); err != nil || len(members) != 7 {
			t.Errorf("members of %s without optional ones = %v, %v, want 7", c, members, err)
		}
	}
}
