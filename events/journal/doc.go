// Package journal records when keys end, outside of PostgreSQL: a failover to a standby that lags, or a restore of an older backup, brings
// keys back that were revoked or rolled last. The command that ends a key publishes an [Entry] after the commit. The stream keeps the
// newest entry of each key. Projectors and restores read all of them, and end the keys again.
package journal
