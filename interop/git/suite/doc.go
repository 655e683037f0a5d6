// Package suite holds tests only: git's own tests of smart HTTP run against githttp, which the server in httpd puts where they look for
// Apache. Which of their cases pass, and why the others do not, stands in cases.txt; make clients gets the tests and runs them.
package suite
