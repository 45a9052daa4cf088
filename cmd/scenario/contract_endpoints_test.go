package scenario_test

import "github.com/google/uuid"

// endpointSections are the rules of "Endpoints".
func endpointSections() []section {
	return []section{
		{"Operations", []rule{
			{name: "GET without a body answers 200 as application/json", prove: successIsJSON},
			{name: "errors are application/problem+json", prove: errorsAreProblems},
			{name: "every operation needs a key", prove: everyOperationNeedsAKey},
			{name: "unknown query parameters are 400 on the call-log and voicemail lists", prove: func(w *world) {
				w.judged(w.key, w.home("/call-logs?callsid=x&page=1"), "400 VALIDATION_FAILED /callsid UNKNOWN_PARAMETER")
				w.judged(w.key, w.home("/voicemails?callSid=x&listened=true"), "400 VALIDATION_FAILED /callSid UNKNOWN_PARAMETER /listened UNKNOWN_PARAMETER")
			}},
			{name: "unknown query parameters are 400 on every operation", prove: unknownParametersAreRefused},
			{name: "the 24 paths and no others", prove: the24Paths},
			{name: "each operation needs the scope of its row", prove: scopesOfTheirRows},
			{name: "a malformed path identifier is 400", prove: malformedIdentifiers},
			{name: "a recordingSid has shape RE...", prove: recordingSidsBeginWithRE},
		}},
		{"Discovery", []rule{
			{name: "takes no parameters", prove: discoveryTakesNoParameters},
			{name: "returns {data: [{id, name}]} ordered by name", prove: discoveryByName},
			{name: "a single-system key lists its one system", prove: systemOfASystemKey},
			{name: "a group key lists the group's current members", prove: currentMembersOfAGroup},
			{name: "an organization key lists its directly attached systems only", prove: systemsOfAnOrganization},
			{name: "coverage is resolved live on every request", prove: liveCoverage},
			{name: "an empty data array is a valid response", prove: nothingToDiscover},
		}},
		{"Standard list operations", []rule{
			{name: "page defaults to 1 and is at least 1", prove: pagesBeginAtOne},
			{name: "pageSize defaults to 25 and is 1..100", prove: pageSizes},
			{name: "returns {data, total, page, pageSize, totalPages}", prove: pagesInFull},
			{name: "total counts what is there after deletions", prove: (*world).totalsAfterDeletions},
			{name: "an empty list has total 0 and totalPages 0", prove: emptyLists},
			{name: "a page beyond the last is empty", prove: pagesBeyondTheLast},
			{name: "call logs are newest first with id as tiebreak", prove: newestFirst("/call-logs")},
			{name: "voicemails are newest first with id as tiebreak", prove: newestFirst("/voicemails")},
			{name: "every list is newest first with id as tiebreak", prove: newestFirst(standardLists()...)},
			{name: "pages walked in order give every row once", prove: everyRowOnce},
		}},
		{"Filters", []rule{
			{name: "agent-configs: status", prove: agentStatuses},
			{name: "agent-configs: agentNumber 1..9", prove: agentNumbers},
			{name: "phones: status", prove: statuses("/phones", func(w *world) map[string]uuid.UUID {
				return map[string]uuid.UUID{"active": w.base, "inactive": w.handset}
			})},
			{name: "phones: extensionId", prove: phonesOfAnExtension},
			{name: "phone-numbers: status", prove: statuses("/phone-numbers", func(w *world) map[string]uuid.UUID {
				return map[string]uuid.UUID{"active": w.mainNumber, "released": w.releasedNumber}
			})},
			{name: "phone-numbers: phoneNumber", prove: exact("/phone-numbers", "phoneNumber", "%2B14155550199", func(w *world) uuid.UUID { return w.releasedNumber })},
			{name: "extensions: status", prove: statuses("/extensions", func(w *world) map[string]uuid.UUID {
				return map[string]uuid.UUID{"active": w.front, "inactive": w.back}
			})},
			{name: "extensions: number", prove: exact("/extensions", "number", "102", func(w *world) uuid.UUID { return w.back })},
			{name: "call-groups: status", prove: statuses("/call-groups", func(w *world) map[string]uuid.UUID {
				return map[string]uuid.UUID{"active": w.desk}
			})},
			{name: "call-groups: number", prove: exact("/call-groups", "number", "200", func(w *world) uuid.UUID { return w.desk })},
			{name: "call-menus: status", prove: statuses("/call-menus", func(w *world) map[string]uuid.UUID {
				return map[string]uuid.UUID{"active": w.menu}
			})},
			{name: "call-logs: dateFrom and dateTo, inclusive, on createdAt", prove: datedCalls},
			{name: "call-logs: callSid, 1..64 characters, exact", prove: callSids},
			{name: "voicemails: dateFrom and dateTo, inclusive, on createdAt", prove: dated("/voicemails?", func(w *world) (newer, older uuid.UUID) { return w.notice, w.message }, 8, 7)},
			{name: "call-analyses: dateFrom and dateTo", prove: dated("/call-analyses?", func(w *world) (newer, older uuid.UUID) { return w.analyzed, w.waiting }, 5, 4)},
			{name: "call-analyses: callSid or callLogId", prove: analysesOfACall},
			{name: "recordings: dateFrom, dateTo, status, callSid", prove: recordingFilters},
			{name: "filters combine", prove: filtersCombine},
		}},
		{"Detail operations", []rule{
			{name: "return the single row", prove: singleRows},
			{name: "400 for a malformed identifier", prove: malformedIdentifiers},
			{name: "401 without a valid key", prove: detailsNeedAKey},
			{name: "403 without the scope", prove: detailsNeedTheirScope},
			{name: "404 for what is not there", prove: absentDetails},
		}},
		{"Call log reports list", []rule{
			{name: "timeField is createdAt by default, or updatedAt, and selects filter and order", prove: timeFields},
			{name: "dateFrom and dateTo are required", prove: windowsAreRequired},
			{name: "dateFrom is inclusive and dateTo exclusive", prove: halfOpenWindows},
			{name: "limit defaults to 25 and is at most 100", prove: limits("", 100)},
			{name: "limit is at most 25 with includeTranscripts", prove: limits("&includeTranscripts=true", 25)},
			{name: "includeTranscripts defaults to false", prove: transcriptsOnRequest},
			{name: "returns {data, nextCursor, hasMore} and no total", prove: reportPages},
			{name: "carries Cache-Control: no-store", prove: reportsAreNotStored},
			{name: "rows are ascending by the selected timestamp, then by id", prove: ascending},
			{name: "nextCursor sent back until hasMore is false gives the whole window, each row once", prove: ascending},
			{name: "hasMore false is only said once the projection has caught up with the window", tests: "cmd/scenario.TestReports_FinishedWindowsAreComplete"},
			{name: "the cursor is opaque", prove: opaque},
			{name: "a cursor of another phone system is 400 at /cursor", prove: cursorOfAnotherSystem},
			{name: "a cursor of another timeField is 400 at /cursor", prove: cursorOfAnotherField},
			{name: "a cursor of another dateFrom or dateTo is 400 at /cursor", prove: cursorOfAnotherWindow},
			{name: "limit and includeTranscripts may change between pages", prove: changingLimits},
			{name: "the cursor carries no authorization", prove: cursorsGrantNothing},
			{name: "a refused cursor is handled by restarting the window without one", prove: restarting},
			{name: "windows that share a boundary neither repeat nor skip a row", prove: sharedBoundaries},
			{
				name:   "windows end at least five minutes before the present, and consumers upsert by id",
				theirs: "it recommends to consumers; that no walk needs it is proven with finished windows",
			},
			{name: "returns calls added or changed in the window", prove: changesInTheWindow},
			{name: "deletions are not reported", prove: deletionsAreNotReported},
		}},
		{"Call log report dimensions", []rule{
			{name: "takes no parameters", prove: snapshotTakesNoParameters},
			{name: "returns the whole snapshot without paging", prove: wholeSnapshot},
			{name: "a partial snapshot is never returned", prove: untimelySnapshot},
		}},
		{"Signed audio URL", []rule{
			{name: "returns {url, expiresAt}", prove: linkMembers},
			{name: "409 RECORDING_NOT_READY, retryable, while the audio is processing", prove: notReadyYet},
			{name: "404 for a recordingSid that is absent", prove: absentRecording},
			{name: "404 for a recordingSid that is deleted", prove: deletedRecording},
			{name: "404 for a recordingSid that is permanently unavailable", prove: unavailableRecording},
			{name: "404 for a recordingSid outside the grant", prove: foreignRecording},
		}},
		{"Identifiers from webhooks", []rule{
			{name: "callSid filters the call-log list and the call-analysis list", prove: byCallSid},
			{name: "callLogId fetches the call-log detail and filters the call-analysis list", prove: byCallLogID},
			{name: "voicemailId fetches the voicemail detail", prove: byVoicemailID},
			{name: "recordingSid fetches the recording detail and the signed audio URL", prove: byRecordingSid},
		}},
		{"Consumer-facing notes", []rule{
			{name: "call-log detail, voicemail detail and report rows can be fetched while artifacts are processing", prove: beforeTheArtifacts},
			{name: "a 404 on a previously fetched identifier means removal", prove: removals},
			{name: "display-only columns are derived by the consumer", theirs: "it binds consumers; the fields they are derived from are in the row"},
			{
				name:   "report rows carry the same values as the dashboard export columns",
				theirs: "the export is the platform's; every field of the row is proven with the resource",
			},
			{name: "transcriptionStatus records whether text is retrievable now, not the last attempt", prove: retrievableNow},
			{name: "a store-name column is not part of the contract", prove: noStoreName},
		}},
	}
}
