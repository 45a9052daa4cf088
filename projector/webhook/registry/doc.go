// Package registry registers webhook endpoints for operators, shows them and their deliveries, and repeats deliveries.
//
// It writes tables and sends nothing. Every change of an endpoint is recorded in webhook.audit, in the transaction of the change.
package registry
