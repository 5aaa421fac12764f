// The catalogue of stable error identifiers.
#pragma once
