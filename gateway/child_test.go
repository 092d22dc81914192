package gateway_test

func childMain() {}
