// Package egress posts webhooks to addresses that customers chose.
//
//	URL ──CheckURL──> canonical URL ──Connect──> Endpoint ──Post──> Answer
//	                                                │
//	                        every dial: is the address public, is the port allowed?
//
// The owner of an endpoint's domain decides what its name resolves to, at every request. So the address that is dialled is checked, not the
// name. Redirects are not followed, proxies of the environment are ignored, and certificates are always verified. What an endpoint answers
// is bounded in time and memory.
package egress
