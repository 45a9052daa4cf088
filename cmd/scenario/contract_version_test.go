package scenario_test

// versionSections are the rules of "Versioning".
func versionSections() []section {
	return []section{
		{"Versioning", []rule{
			{name: "the base URL ends in /v1", prove: versionInTheURL},
			{name: "version 1 changes by addition only", tests: "readapi/docs.TestContract, readapi/docs.TestContract_Changes"},
			{name: "a breaking change requires a new major version", theirs: "it is a promise about releases to come; the snapshot holds version 1 to additions"},
			{name: "an operation is published only when it is in the reviewed approval record", tests: "readapi.TestContract_Unapproved, readapi/docs.TestParseApprovals"},
			{name: "operation identifiers never change once published", prove: stableIdentifiers},
			{name: "lifecycle stages are stable, beta and deprecated, and all 24 are beta", prove: beta},
			{name: "each operation has a summary, a description, documented responses and an issuable scope", prove: documented},
			{name: "an OpenAPI 3.1 description with the single server base URL is published", prove: openAPI31},
			{name: "the description contains only approved operations", prove: approvedAlone},
			{name: "scopes of unapproved resource areas are not issued", prove: unapprovedScopes},
		}},
	}
}
