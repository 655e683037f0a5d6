// Package sim runs whole graspds, put together as in the binary, against each other and against relays that judge them, inside a testing/synctest
// bubble. Weeks pass in a second, and the network, the disks and the clocks are under the test's control. Only tests use it.
package sim
