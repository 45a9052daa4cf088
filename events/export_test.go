package events

// FetchBodyWithin is [FetchBody] with another time limit for one attempt.
var FetchBodyWithin = fetchBody
