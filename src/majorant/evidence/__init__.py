"""What is known about two rules: types, engines, and the tests of their assumptions."""
