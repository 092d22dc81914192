// Package sessionstest is what the tests of the packages of the sessions service share: the services over a real store, whose clock the
// test sets
// and whose writes it can have fail; fakes of what is outside; and filled messages for conversions.
package sessionstest
