// Package git holds tests only: clients of git that others wrote clone from the built graspd and push to it, on loopback. The
// table of what each can do is in table_test.go; make clients installs them and runs it.
package git
