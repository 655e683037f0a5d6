// Package status has the state of this relay as values: with other relays, as a host of repositories, and of its backups. The peer fills in
// one Relay for each other relay, and the metrics, the operator's page, status.json and the status command show it. This package declares
// every figure of it, with its name in the document and its metric; columns.go has what people see. Read Counters and Figures to add one.
//
// Package status never reads a clock or a store: whoever has a figure fills it in.
package status
