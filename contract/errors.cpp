#include "contract/errors.h"
