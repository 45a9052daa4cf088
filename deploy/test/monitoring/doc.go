// Package monitoring tests the rules, dashboards and runbooks in deploy against the real programs.
package monitoring
