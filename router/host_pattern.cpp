#include "router/host_pattern.h"
