// Package grasp knows the rules of the GRASP services: which relay URLs are the same relay, whether an announcement lists
// this service, and who decides for a repository. All its functions are pure: they resolve no name and open no connection.
package grasp
